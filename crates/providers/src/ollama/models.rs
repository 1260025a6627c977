//! Models as a server describes them.

#[cfg(doc)]
use super::OllamaServer;
use crate::protocol::tolerant::count;
use ai_services_core::model::{Capabilities, Capability};
use serde::Deserialize;
use serde_json::{Map, Value};

/// A model that a server has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct OllamaModel {
    /// The name to ask it by, for example `llama3.2:latest`.
    pub name: Box<str>,
    /// Its size on disk, in bytes.
    pub size: Option<u64>,
    /// When it was changed last, as the server writes it (RFC 3339).
    pub modified_at: Option<Box<str>>,
    /// Its architecture, for example `llama`.
    pub family: Option<Box<str>>,
    /// How many parameters it has, for example `3.2B`.
    pub parameter_size: Option<Box<str>>,
    /// How they are stored, for example `Q4_K_M`.
    pub quantization: Option<Box<str>>,
}

impl OllamaModel {
    /// Whether it seems to be made for embeddings and not for chats: by its family, or by its name.
    /// [`OllamaServer::model`] knows it exactly.
    #[must_use]
    pub fn seems_for_embeddings(&self) -> bool {
        let is_bert = self.family.as_deref().is_some_and(|family| family.contains("bert"));
        is_bert || self.name.contains("embed")
    }
}

/// What a server knows about a model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct OllamaModelDetails {
    /// What it can do in the server's words: `completion`, `tools`, `vision`, `thinking`, `embedding`
    /// and others. Empty from servers before version 0.6.4.
    pub capabilities: Vec<Box<str>>,
    /// Its architecture, for example `llama`.
    pub family: Option<Box<str>>,
    /// How many parameters it has, for example `3.2B`.
    pub parameter_size: Option<Box<str>>,
    /// The longest conversation that it was made for, in tokens. How much of it the server reads is
    /// its own setting, mostly far less; see
    /// [`context_length`](super::OllamaChatModelBuilder::context_length).
    pub context_length: Option<u64>,
    /// How many numbers its embeddings have.
    pub embedding_length: Option<u64>,
}

impl OllamaModelDetails {
    /// The same in the words of this crate; `None` if the server does not say.
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

/// What is not empty; models from elsewhere have empty details.
fn some(text: Option<Box<str>>) -> Option<Box<str>> {
    text.filter(|text| !text.is_empty())
}

impl From<Tag> for OllamaModel {
    fn from(tag: Tag) -> Self {
        let details = tag.details.unwrap_or_default();
        Self {
            name: some(tag.name).or(tag.model).unwrap_or_default(),
            size: tag.size,
            modified_at: some(tag.modified_at),
            family: some(details.family),
            parameter_size: some(details.parameter_size),
            quantization: some(details.quantization_level),
        }
    }
}

impl From<Show> for OllamaModelDetails {
    fn from(show: Show) -> Self {
        let info = show.model_info.unwrap_or_default();
        let details = show.details.unwrap_or_default();
        // The names begin with that of the architecture: `llama.context_length`.
        let architecture = info.get("general.architecture").and_then(Value::as_str);
        let number = |name: &str| info.get(&format!("{}.{name}", architecture?))?.as_u64();
        Self {
            capabilities: show.capabilities.unwrap_or_default(),
            family: some(details.family),
            parameter_size: some(details.parameter_size),
            context_length: number("context_length"),
            embedding_length: number("embedding_length"),
        }
    }
}
