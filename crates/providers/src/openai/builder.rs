//! Building an [`OpenAiChatModel`].

use super::account::{Account, Site, account_setters};
use super::options::{
    MaxTokensField, Options, PromptCache, ProviderExtensions, SchemaMode, StreamUsage,
    prompt_cache_setters, schema_setters,
};
use super::parameters::Frame;
use super::{Inner, OpenAiChatModel, default_capabilities};
use crate::ThinkingReplay;
use crate::protocol::connection::{Connection, connection_setters, set};
use crate::protocol::frames::Frames;
#[cfg(doc)]
use ai_services_core::model::Capability;
use ai_services_core::model::{Capabilities, ChatRequestParameters};
use ai_services_core::{Error, Result};
use std::fmt;
use std::sync::Arc;

/// The model of [`OpenAiChatModel::from_env`].
pub(super) const DEFAULT_MODEL: &str = "gpt-4o-mini";

/// Builds an [`OpenAiChatModel`].
///
/// Only [`model`](Self::model) is required. With neither [`api_key`](Self::api_key) nor
/// [`base_url`](Self::base_url), key, server, organization and project come from the environment,
/// as in [`OpenAiChatModel::from_env`]; if one of the two is set, the environment is not read.
///
/// # Examples
///
/// ```
/// use ai_services::model::ChatRequestParameters;
/// use ai_services::providers::openai::OpenAiChatModel;
/// use std::time::Duration;
///
/// let model = OpenAiChatModel::builder()
///     .base_url("http://localhost:8080/v1")
///     .api_key("secret")
///     .model("gpt-4o-mini")
///     .parameters(ChatRequestParameters::new().temperature(0.2))
///     .deadline(Duration::from_secs(30))
///     .build()?;
/// assert!(!format!("{model:?}").contains("secret"));
/// # Ok::<(), ai_services::Error>(())
/// ```
#[derive(Default)]
#[must_use]
pub struct OpenAiChatModelBuilder {
    connection: Connection,
    account: Account,
    model: Option<Box<str>>,
    parameters: ChatRequestParameters,
    max_tokens: Option<MaxTokensField>,
    tool_schemas: SchemaMode,
    response_schemas: Option<SchemaMode>,
    thinking: ThinkingReplay,
    provider_extensions: Option<ProviderExtensions>,
    stream_usage: StreamUsage,
    cache: PromptCache,
    capabilities: Option<Capabilities>,
}

impl OpenAiChatModelBuilder {
    account_setters!("/chat/completions");

    /// Sets the model to ask, for example `gpt-4o-mini`.
    pub fn model(mut self, model: impl Into<Box<str>>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// Sets parameters for all requests; those of a request win over them.
    ///
    /// `top_k` is sent as it is, for compatible servers; OpenAI itself refuses it. A tool choice is
    /// sent only with tools.
    pub fn parameters(mut self, parameters: ChatRequestParameters) -> Self {
        self.parameters = parameters;
        self
    }

    connection_setters!(streams);

    /// Sets the member that carries `max_output_tokens`:
    /// [`MaxCompletionTokens`](MaxTokensField::MaxCompletionTokens) by default at OpenAI and Azure,
    /// [`MaxTokens`](MaxTokensField::MaxTokens) at every other server.
    pub fn max_tokens_field(mut self, field: MaxTokensField) -> Self {
        self.max_tokens = Some(field);
        self
    }

    schema_setters!();

    /// Sets whether the model's earlier thinking is sent back to it;
    /// [`Never`](ThinkingReplay::Never) by default. `reasoning_details`, which OpenRouter wants back, depend
    /// on [`provider_extensions`](Self::provider_extensions) instead.
    pub fn thinking_replay(mut self, replay: ThinkingReplay) -> Self {
        self.thinking = replay;
        self
    }

    /// Sets whether the server is told again what it or another one said beside the protocol, OpenRouter's
    /// `reasoning_details` for example. [`NotSent`](ProviderExtensions::Omit) by default at OpenAI and Azure,
    /// [`Sent`](ProviderExtensions::Send) at every other server. To be switched off for one that refuses such members
    /// and goes on with conversations that others began.
    pub fn provider_extensions(mut self, words: ProviderExtensions) -> Self {
        self.provider_extensions = Some(words);
        self
    }

    /// Sets whether streams ask for the tokens they cost;
    /// [`Requested`](StreamUsage::Requested) by default.
    pub fn stream_usage(mut self, usage: StreamUsage) -> Self {
        self.stream_usage = usage;
        self
    }

    prompt_cache_setters!();

    /// Sets what the model can do. By default everything but, at servers other than OpenAI's and
    /// Azure's, [`JsonSchemaWithTools`](Capability::JsonSchemaWithTools).
    ///
    /// A server without `response_format`, for example, should be described without
    /// [`Capability::JsonSchema`] and [`Capability::JsonObject`]. Without
    /// [`Capability::Streaming`], a stream is one whole answer.
    ///
    /// # Examples
    ///
    /// ```
    /// use ai_services::model::{Capabilities, Capability, ChatModel};
    /// use ai_services::providers::openai::OpenAiChatModel;
    ///
    /// let local = OpenAiChatModel::builder()
    ///     .base_url("http://localhost:8080/v1")
    ///     .model("small")
    ///     .capabilities(Capabilities::of([Capability::Tools, Capability::Streaming]))
    ///     .build()?;
    /// assert!(!local.capabilities().include(Capability::JsonSchema));
    /// # Ok::<(), ai_services::Error>(())
    /// ```
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
    /// TLS cannot be set up.
    pub fn build(self) -> Result<OpenAiChatModel> {
        self.build_with(|name| std::env::var(name).ok())
    }

    /// The model of [`OpenAiChatModel::from_env`].
    pub(super) fn from_env(var: impl Fn(&str) -> Option<String>) -> Result<OpenAiChatModel> {
        let model = set(&var, "OPENAI_MODEL").unwrap_or_else(|| DEFAULT_MODEL.to_owned());
        Self::default().model(model).build_with(var)
    }

    fn build_with(mut self, var: impl Fn(&str) -> Option<String>) -> Result<OpenAiChatModel> {
        let Site { url, headers, is_genuine } = self.account.site(&mut self.connection, var)?;
        let max_tokens = self.max_tokens.unwrap_or(match is_genuine {
            true => MaxTokensField::MaxCompletionTokens,
            false => MaxTokensField::MaxTokens,
        });
        let model = self.parameters.model.clone().or(self.model);
        let model = model.ok_or_else(|| Error::configuration("no model: call `model`"))?;
        let options = Options {
            thinking: self.thinking,
            provider_extensions: self.provider_extensions.unwrap_or(match is_genuine {
                true => ProviderExtensions::Omit,
                false => ProviderExtensions::Send,
            }),
            stream_usage: self.stream_usage,
            cache: self.cache,
            max_tokens,
            tools: self.tool_schemas,
            answers: self.response_schemas.unwrap_or(SchemaMode::of_answers_at(is_genuine)),
        };
        let frames = Frames::new(self.parameters, |parameters, delivery| {
            Frame::new(parameters, &model, &options, delivery)
        });
        Ok(OpenAiChatModel(Arc::new(Inner {
            frames,
            endpoint: self.connection.server(url, headers)?.endpoint("chat/completions"),
            options,
            model,
            capabilities: self.capabilities.unwrap_or_else(|| default_capabilities(is_genuine)),
        })))
    }
}

impl fmt::Debug for OpenAiChatModelBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenAiChatModelBuilder")
            .field("model", &self.model)
            .field("connection", &self.connection)
            .field("parameters", &self.parameters)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ai_services_core::ErrorKind;

    fn from_env(variables: &[(&str, &str)]) -> Result<OpenAiChatModel> {
        OpenAiChatModelBuilder::from_env(|name| {
            let found = variables.iter().find(|(variable, _)| *variable == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn missing_key_names_the_variable() {
        let openai = "https://api.openai.com/v1";
        for variables in [vec![], vec![("OPENAI_API_KEY", " ")], vec![("OPENAI_BASE_URL", openai)]]
        {
            let error = from_env(&variables).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Configuration);
            assert!(error.to_string().contains("OPENAI_API_KEY"), "{error}");
        }
    }

    #[test]
    fn local_server_needs_no_key() {
        let model = from_env(&[("OPENAI_BASE_URL", "http://localhost:8080/v1")]).unwrap();
        assert_eq!(&*model.0.model, DEFAULT_MODEL);
        assert_eq!(model.0.options.max_tokens, MaxTokensField::MaxTokens);
        assert_eq!(model.0.options.provider_extensions, ProviderExtensions::Send);
        let builder = OpenAiChatModel::builder().base_url("http://localhost").model("m");
        assert!(builder.build_with(|_| unreachable!("the environment is not read")).is_ok());
    }

    #[test]
    fn environment_sets_everything() {
        let variables = [
            ("OPENAI_API_KEY", "sk-canary\n"),
            ("OPENAI_ORG_ID", "org"),
            ("OPENAI_PROJECT_ID", "proj"),
            ("OPENAI_MODEL", "gpt-4.1"),
        ];
        let model = from_env(&variables).unwrap();
        assert_eq!(&*model.0.model, "gpt-4.1");
        assert_eq!(model.0.options.max_tokens, MaxTokensField::MaxCompletionTokens);
        assert_eq!(model.0.options.provider_extensions, ProviderExtensions::Omit);
        assert!(!format!("{model:?}").contains("canary"));
    }

    #[test]
    fn key_that_no_header_can_carry_is_not_repeated() {
        let local = || OpenAiChatModel::builder().base_url("http://localhost").model("m");
        let errors = [
            local().api_key("ca\nnary").build().unwrap_err(),
            local().header("api-key", "ca\nnary").build().unwrap_err(),
            local().header("bad name", "canary").build().unwrap_err(),
        ];
        for error in errors {
            assert_eq!(error.kind(), ErrorKind::Configuration);
            assert!(!format!("{error:?}").contains("nary"), "{error:?}");
        }
        let builder = local().api_key("canary").header("x", "canary").base_url("http://canary/");
        assert!(!format!("{builder:?}").contains("canary"), "{builder:?}");
    }
}
