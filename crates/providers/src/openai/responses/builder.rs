//! Building an [`OpenAiResponsesModel`].

use super::options::{EncryptedReasoning, Options, ParallelCalls, ReasoningSummary};
use super::parameters::{self, Frame};
use super::{Inner, OpenAiResponsesModel, ResponseStorage, default_capabilities};
use crate::openai::account::{Account, Site, account_setters};
use crate::openai::builder::DEFAULT_MODEL;
use crate::openai::options::{PromptCache, SchemaMode, prompt_cache_setters, schema_setters};
use crate::protocol::connection::{Connection, connection_setters, set};
use crate::protocol::frames::Frames;
#[cfg(doc)]
use ai_services_core::model::Capability;
use ai_services_core::model::{Capabilities, ChatRequestParameters};
use ai_services_core::{Error, Result};
use std::fmt;
use std::sync::Arc;

/// Builds an [`OpenAiResponsesModel`].
///
/// Only [`model`](Self::model) is required. With neither [`api_key`](Self::api_key) nor
/// [`base_url`](Self::base_url), key, server, organization and project come from the environment,
/// as in [`OpenAiResponsesModel::from_env`]; if one of the two is set, the environment is not read.
///
/// # Examples
///
/// ```
/// use ai_services::model::{ChatRequestParameters, ReasoningEffort};
/// use ai_services::providers::openai::OpenAiResponsesModel;
///
/// let model = OpenAiResponsesModel::builder()
///     .api_key("secret")
///     .model("gpt-5-mini")
///     .parameters(ChatRequestParameters::new().reasoning_effort(ReasoningEffort::Low))
///     .build()?;
/// assert!(!format!("{model:?}").contains("secret"));
/// # Ok::<(), ai_services::Error>(())
/// ```
#[derive(Default)]
#[must_use]
pub struct OpenAiResponsesModelBuilder {
    connection: Connection,
    account: Account,
    model: Option<Box<str>>,
    parameters: ChatRequestParameters,
    storage: ResponseStorage,
    encrypted_reasoning: Option<EncryptedReasoning>,
    summary: Option<ReasoningSummary>,
    parallel_calls: Option<ParallelCalls>,
    tool_schemas: SchemaMode,
    response_schemas: Option<SchemaMode>,
    cache: PromptCache,
    capabilities: Option<Capabilities>,
}

impl OpenAiResponsesModelBuilder {
    account_setters!("/responses");

    /// Sets the model to ask, for example `gpt-5-mini`.
    pub fn model(mut self, model: impl Into<Box<str>>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// Sets parameters for all requests; those of a request win over them.
    ///
    /// The API has no place for `stop`, `seed`, `top_k` and penalties. A tool choice is sent only with
    /// tools. How wordy an answer is, is said by `extra("text", json!({"verbosity": "low"}))`.
    pub fn parameters(mut self, parameters: ChatRequestParameters) -> Self {
        self.parameters = parameters;
        self
    }

    connection_setters!(streams);

    /// Sets whether OpenAI stores answers; [`NotStored`](ResponseStorage::NotStored) by default.
    pub fn storage(mut self, storage: ResponseStorage) -> Self {
        self.storage = storage;
        self
    }

    /// Sets whether reasoning is asked for in a form that can be sent back. By default it is, unless
    /// answers are [stored](Self::storage), or the name of the model begins with that of one of OpenAI's
    /// that does not reason: `gpt-4`, `gpt-3.5`, `chatgpt-`. To be set for a deployment whose name does
    /// not tell.
    pub fn encrypted_reasoning(mut self, reasoning: EncryptedReasoning) -> Self {
        self.encrypted_reasoning = Some(reasoning);
        self
    }

    /// Asks for a summary of what the model thought, which becomes the thinking of its answers. By
    /// default none is asked for. OpenAI gives summaries only to verified organizations.
    pub fn reasoning_summary(mut self, summary: ReasoningSummary) -> Self {
        self.summary = Some(summary);
        self
    }

    /// Sets whether one answer may call several tools; left to the provider by default, which allows it.
    pub fn parallel_calls(mut self, calls: ParallelCalls) -> Self {
        self.parallel_calls = Some(calls);
        self
    }

    schema_setters!();

    prompt_cache_setters!();

    /// Sets what the model can do. By default it calls tools, streams, looks at images and reads PDF
    /// documents; at OpenAI and Azure also [`JsonSchema`](Capability::JsonSchema),
    /// [`JsonSchemaWithTools`](Capability::JsonSchemaWithTools) and
    /// [`JsonObject`](Capability::JsonObject), which other servers may ignore without a word.
    pub fn capabilities(mut self, capabilities: Capabilities) -> Self {
        self.capabilities = Some(capabilities);
        self
    }

    /// Builds the model. Nothing is sent.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Configuration`](ai_services_core::ErrorKind::Configuration) without a model, without a key
    /// for OpenAI, for a base URL that is not one, a key or header that HTTP cannot carry, and if
    /// TLS cannot be set up. [`ErrorKind::Unsupported`](ai_services_core::ErrorKind::Unsupported) for parameters
    /// that the API does not have.
    pub fn build(self) -> Result<OpenAiResponsesModel> {
        self.build_with(|name| std::env::var(name).ok())
    }

    /// The model of [`OpenAiResponsesModel::from_env`].
    pub(super) fn from_env(var: impl Fn(&str) -> Option<String>) -> Result<OpenAiResponsesModel> {
        let model = set(&var, "OPENAI_MODEL").unwrap_or_else(|| DEFAULT_MODEL.to_owned());
        Self::default().model(model).build_with(var)
    }

    fn build_with(mut self, var: impl Fn(&str) -> Option<String>) -> Result<OpenAiResponsesModel> {
        parameters::check(&self.parameters)?;
        let Site { url, headers, is_genuine } = self.account.site(&mut self.connection, var)?;
        let model = self.parameters.model.clone().or(self.model);
        let model = model.ok_or_else(|| Error::configuration("no model: call `model`"))?;
        let options = Options {
            storage: self.storage,
            encrypted_reasoning: self.encrypted_reasoning,
            summary: self.summary,
            parallel_calls: self.parallel_calls,
            cache: self.cache,
            tools: self.tool_schemas,
            answers: self.response_schemas.unwrap_or(SchemaMode::of_answers_at(is_genuine)),
        };
        let frames = Frames::new(self.parameters, |parameters, delivery| {
            Frame::new(parameters, &model, &options, delivery)
        });
        Ok(OpenAiResponsesModel(Arc::new(Inner {
            frames,
            endpoint: self.connection.server(url, headers)?.endpoint("responses"),
            options,
            model,
            capabilities: self.capabilities.unwrap_or_else(|| default_capabilities(is_genuine)),
        })))
    }
}

impl fmt::Debug for OpenAiResponsesModelBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenAiResponsesModelBuilder")
            .field("model", &self.model)
            .field("connection", &self.connection)
            .field("parameters", &self.parameters)
            .finish_non_exhaustive()
    }
}
