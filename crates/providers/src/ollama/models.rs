//! Descriptions of the models of a server.

use crate::protocol::tolerant::count;
use ai_services_core::model::{Capabilities, Capability};
use serde::Deserialize;
use serde_json::{Map, Value};

/// A model in the list of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct OllamaModel {
    /// Name for requests, for example `llama3.2:latest`.
    pub name: Box<str>,
    /// Size on disk in bytes.
    pub size: Option<u64>,
    /// Time of the last change, in the server's format (RFC 3339).
    pub modified_at: Option<Box<str>>,
    /// Architecture, for example `llama`.
    pub family: Option<Box<str>>,
    /// Number of parameters, for example `3.2B`.
    pub parameter_size: Option<Box<str>>,
    /// Quantization of the parameters, for example `Q4_K_M`.
    pub quantization: Option<Box<str>>,
}

impl OllamaModel {
    /// Returns `true` if the model seems to be an embedding model, by its family or its name.
    /// [`OllamaServer::model`](super::OllamaServer::model) returns the exact capabilities.
    #[must_use]
    pub fn looks_like_embedding_model(&self) -> bool {
        let is_bert = self.family.as_deref().is_some_and(|family| family.contains("bert"));
        is_bert || self.name.contains("embed")
    }
}

/// The details of a model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct OllamaModelDetails {
    /// Capabilities by the server's names: `completion`, `tools`, `vision`, `thinking`, `embedding` and
    /// others. Empty for servers before version 0.6.4.
    pub capabilities: Vec<Box<str>>,
    /// Architecture, for example `llama`.
    pub family: Option<Box<str>>,
    /// Number of parameters, for example `3.2B`.
    pub parameter_size: Option<Box<str>>,
    /// Maximum context length of the model in tokens. The server is usually configured for a much shorter
    /// context; see [`context_length`](super::OllamaChatModelBuilder::context_length).
    pub context_length: Option<u64>,
    /// Length of the vectors of the model.
    pub embedding_length: Option<u64>,
}

impl OllamaModelDetails {
    /// Returns the capabilities for chats, or `None` if the server does not report capabilities.
    #[must_use]
    pub fn chat_capabilities(&self) -> Option<Capabilities> {
        if self.capabilities.is_empty() {
            return None;
        }
        let pairs = [("tools", Capability::Tools), ("vision", Capability::Images)];
        let is_missing = |name: &str| !self.capabilities.iter().any(|own| **own == *name);
        let missing = pairs.into_iter().filter(|(name, _)| is_missing(name));
        let all = super::default_capabilities();
        Some(missing.fold(all, |can, (_, capability)| can.without(capability)))
    }
}

/// The answer to a request for all models.
#[derive(Deserialize)]
pub(super) struct Tags {
    models: Option<Vec<Tag>>,
}

impl Tags {
    pub(super) fn into_models(self) -> Vec<OllamaModel> {
        self.models.unwrap_or_default().into_iter().map(OllamaModel::from).collect()
    }
}

#[derive(Deserialize)]
struct Tag {
    #[serde(default)]
    name: Option<Box<str>>,
    #[serde(default)]
    model: Option<Box<str>>,
    #[serde(default, deserialize_with = "count")]
    size: Option<u64>,
    #[serde(default)]
    modified_at: Option<Box<str>>,
    #[serde(default)]
    details: Option<Details>,
}

#[derive(Default, Deserialize)]
struct Details {
    #[serde(default)]
    family: Option<Box<str>>,
    #[serde(default)]
    parameter_size: Option<Box<str>>,
    #[serde(default)]
    quantization_level: Option<Box<str>>,
}

/// The answer to a request for one model.
#[derive(Deserialize)]
pub(super) struct Show {
    #[serde(default)]
    capabilities: Option<Vec<Box<str>>>,
    #[serde(default)]
    details: Option<Details>,
    #[serde(default)]
    model_info: Option<Map<String, Value>>,
}

/// Returns `None` for an empty text. Imported models have empty details.
fn non_empty(text: Option<Box<str>>) -> Option<Box<str>> {
    text.filter(|text| !text.is_empty())
}

impl From<Tag> for OllamaModel {
    fn from(tag: Tag) -> Self {
        let details = tag.details.unwrap_or_default();
        Self {
            name: non_empty(tag.name).or(tag.model).unwrap_or_default(),
            size: tag.size,
            modified_at: non_empty(tag.modified_at),
            family: non_empty(details.family),
            parameter_size: non_empty(details.parameter_size),
            quantization: non_empty(details.quantization_level),
        }
    }
}

impl From<Show> for OllamaModelDetails {
    fn from(show: Show) -> Self {
        let info = show.model_info.unwrap_or_default();
        let details = show.details.unwrap_or_default();
        // The architecture is the prefix of the names: `llama.context_length`.
        let architecture = info.get("general.architecture").and_then(Value::as_str);
        let number = |name: &str| info.get(&format!("{}.{name}", architecture?))?.as_u64();
        Self {
            capabilities: show.capabilities.unwrap_or_default(),
            family: non_empty(details.family),
            parameter_size: non_empty(details.parameter_size),
            context_length: number("context_length"),
            embedding_length: number("embedding_length"),
        }
    }
}
