//! The builder of [`OpenAiResponsesModel`].

use super::options::{EncryptedReasoning, Options, ReasoningSummary, ResponseStorage};
use super::{OpenAiResponsesModel, Responses, default_capabilities, parameters};
use crate::openai::account::{Account, account_setters};
use crate::openai::builder::DEFAULT_MODEL;
use crate::openai::options::{PromptCache, SchemaMode, prompt_cache_setters, schema_setters};
use crate::protocol::builder::{builder_methods, debug_fields, required_model};
use crate::protocol::client::Client;
use crate::protocol::connection::{Connection, connection_setters};
use crate::protocol::parallel_tool_calls::ParallelToolCalls;
use crate::protocol::site::Target;
use ai_services_core::Result;
#[cfg(doc)]
use ai_services_core::model::Capability;
use ai_services_core::model::{Capabilities, ChatRequestParameters};

/// Builds an [`OpenAiResponsesModel`].
///
/// Only [`model`](Self::model) is required. If neither [`api_key`](Self::api_key) nor
/// [`base_url`](Self::base_url) is set, the key, the server, the organization and the project come from
/// the environment, as in [`OpenAiResponsesModel::from_env`].
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
    parallel_tool_calls: Option<ParallelToolCalls>,
    tool_schemas: SchemaMode,
    response_schemas: Option<SchemaMode>,
    cache: PromptCache,
    capabilities: Option<Capabilities>,
}

debug_fields!(OpenAiResponsesModelBuilder { model, connection, parameters });

impl OpenAiResponsesModelBuilder {
    account_setters!("/responses");

    builder_methods! {
        /// Sets the model, for example `gpt-5-mini`.
        model;
        /// Sets the parameters of all requests. Parameters of a request win over them.
        ///
        /// The API has no `stop`, `seed`, `top_k` and penalties. A tool choice is sent only with tools.
        /// `extra("text", json!({"verbosity": "low"}))` sets the verbosity of answers.
        parameters;
    }

    connection_setters!(streams);

    /// Sets whether OpenAI stores answers. Default: [`NotStored`](ResponseStorage::NotStored).
    pub fn storage(mut self, storage: ResponseStorage) -> Self {
        self.storage = storage;
        self
    }

    /// Sets whether encrypted reasoning is requested, which can be sent back.
    ///
    /// By default it is requested unless answers are [stored](Self::storage), or the name of the model
    /// begins like those of OpenAI's models without reasoning: `gpt-4`, `gpt-3.5`, `chatgpt-`. Set this
    /// for a deployment with another name.
    pub fn encrypted_reasoning(mut self, reasoning: EncryptedReasoning) -> Self {
        self.encrypted_reasoning = Some(reasoning);
        self
    }

    /// Requests a summary of the reasoning, which becomes the thinking of an answer. Default: none.
    /// OpenAI returns summaries only to verified organizations.
    pub fn reasoning_summary(mut self, summary: ReasoningSummary) -> Self {
        self.summary = Some(summary);
        self
    }

    /// Sets whether one answer may call several tools. Default: the provider's, which allows it.
    pub fn parallel_tool_calls(mut self, parallel: ParallelToolCalls) -> Self {
        self.parallel_tool_calls = Some(parallel);
        self
    }

    schema_setters!();

    prompt_cache_setters!();

    builder_methods! {
        /// Sets the capabilities of the model. Default: tools, streams, images and PDF documents; at
        /// OpenAI and Azure also [`JsonSchema`](Capability::JsonSchema),
        /// [`JsonSchemaWithTools`](Capability::JsonSchemaWithTools) and
        /// [`JsonObject`](Capability::JsonObject), which other servers may ignore silently.
        capabilities;
        /// Builds the model. Sends nothing.
        ///
        /// # Errors
        ///
        /// [`ErrorKind::Configuration`](ai_services_core::ErrorKind::Configuration) without a model,
        /// without a key for OpenAI, for an invalid base URL, for a key or header that HTTP cannot carry,
        /// and if TLS cannot be set up.
        /// [`ErrorKind::Unsupported`](ai_services_core::ErrorKind::Unsupported) for parameters that the
        /// API lacks.
        build -> OpenAiResponsesModel;
        from_env("OPENAI_MODEL", DEFAULT_MODEL) -> OpenAiResponsesModel;
    }

    fn build_with(mut self, var: impl Fn(&str) -> Option<String>) -> Result<OpenAiResponsesModel> {
        parameters::check(&self.parameters)?;
        let Target { url, headers, is_official } =
            self.account.target(&mut self.connection, var)?;
        let model = required_model(self.parameters.model.clone().or(self.model))?;
        let options = Options {
            storage: self.storage,
            encrypted_reasoning: self.encrypted_reasoning,
            summary: self.summary,
            parallel_tool_calls: self.parallel_tool_calls,
            cache: self.cache,
            tools: self.tool_schemas,
            answers: self.response_schemas.unwrap_or(SchemaMode::default_for_answers(is_official)),
        };
        let endpoint = self.connection.server(url, headers)?.endpoint("responses");
        let capabilities = self.capabilities.unwrap_or_else(|| default_capabilities(is_official));
        let protocol = Responses { endpoint, options };
        Ok(OpenAiResponsesModel(Client::new(protocol, model, self.parameters, capabilities)))
    }
}
