//! The builder of [`OpenAiChatModel`].

use super::OpenAiChatModel;
use super::account::{Account, account_setters};
use super::chat_completions::{ChatCompletions, default_capabilities};
use super::options::{
    MaxTokensField, Options, PromptCache, ProviderExtensions, SchemaMode, StreamUsage,
    prompt_cache_setters, schema_setters,
};
use crate::ThinkingReplay;
use crate::protocol::builder::{builder_methods, debug_fields, required_model};
use crate::protocol::client::Client;
use crate::protocol::connection::{Connection, connection_setters};
use crate::protocol::site::Target;
use ai_services_core::Result;
#[cfg(doc)]
use ai_services_core::model::Capability;
use ai_services_core::model::{Capabilities, ChatRequestParameters};

/// The model of [`OpenAiChatModel::from_env`].
pub(super) const DEFAULT_MODEL: &str = "gpt-4o-mini";

/// Builds an [`OpenAiChatModel`].
///
/// Only [`model`](Self::model) is required. If neither [`api_key`](Self::api_key) nor
/// [`base_url`](Self::base_url) is set, the key, the server, the organization and the project come from
/// the environment, as in [`OpenAiChatModel::from_env`].
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

debug_fields!(OpenAiChatModelBuilder { model, connection, parameters });

impl OpenAiChatModelBuilder {
    account_setters!("/chat/completions");

    builder_methods! {
        /// Sets the model, for example `gpt-4o-mini`.
        model;
        /// Sets the parameters of all requests. Parameters of a request win over them.
        ///
        /// `top_k` is sent for compatible servers; OpenAI rejects it. A tool choice is sent only with
        /// tools.
        parameters;
    }

    connection_setters!(streams);

    /// Sets the member that carries `max_output_tokens`. Default:
    /// [`MaxCompletionTokens`](MaxTokensField::MaxCompletionTokens) at OpenAI and Azure,
    /// [`MaxTokens`](MaxTokensField::MaxTokens) at other servers.
    pub fn max_tokens_field(mut self, field: MaxTokensField) -> Self {
        self.max_tokens = Some(field);
        self
    }

    schema_setters!();

    /// Sets whether earlier thinking is sent back to the model. Default:
    /// [`Never`](ThinkingReplay::Never).
    ///
    /// OpenRouter's `reasoning_details` depend on
    /// [`provider_extensions`](Self::provider_extensions) instead.
    pub fn thinking_replay(mut self, replay: ThinkingReplay) -> Self {
        self.thinking = replay;
        self
    }

    /// Sets whether non-standard fields of earlier answers, such as OpenRouter's `reasoning_details`, are
    /// sent back. Default: [`Omit`](ProviderExtensions::Omit) at OpenAI and Azure,
    /// [`Send`](ProviderExtensions::Send) at other servers.
    ///
    /// Turn this off for a server that rejects unknown fields and continues conversations of other
    /// servers.
    pub fn provider_extensions(mut self, extensions: ProviderExtensions) -> Self {
        self.provider_extensions = Some(extensions);
        self
    }

    /// Sets whether streams request their token usage. Default: [`Requested`](StreamUsage::Requested).
    pub fn stream_usage(mut self, usage: StreamUsage) -> Self {
        self.stream_usage = usage;
        self
    }

    prompt_cache_setters!();

    builder_methods! {
        /// Sets the capabilities of the model. Default: all, but
        /// [`JsonSchemaWithTools`](Capability::JsonSchemaWithTools) only at OpenAI and Azure.
        ///
        /// Describe a server without `response_format` without [`Capability::JsonSchema`] and
        /// [`Capability::JsonObject`]. Without [`Capability::Streaming`], a stream delivers the whole
        /// answer at once.
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
        /// assert!(!local.capabilities().contains(Capability::JsonSchema));
        /// # Ok::<(), ai_services::Error>(())
        /// ```
        capabilities;
        /// Builds the model. Sends nothing.
        ///
        /// # Errors
        ///
        /// [`ErrorKind::Configuration`](ai_services_core::ErrorKind::Configuration) without a model,
        /// without a key for OpenAI, for an invalid base URL, for a key or header that HTTP cannot carry,
        /// and if TLS cannot be set up.
        build -> OpenAiChatModel;
        from_env("OPENAI_MODEL", DEFAULT_MODEL) -> OpenAiChatModel;
    }

    fn build_with(mut self, var: impl Fn(&str) -> Option<String>) -> Result<OpenAiChatModel> {
        let Target { url, headers, is_official } =
            self.account.target(&mut self.connection, var)?;
        let model = required_model(self.parameters.model.clone().or(self.model))?;
        let (max_tokens, provider_extensions) = if is_official {
            (MaxTokensField::MaxCompletionTokens, ProviderExtensions::Omit)
        } else {
            (MaxTokensField::MaxTokens, ProviderExtensions::Send)
        };
        let options = Options {
            thinking: self.thinking,
            provider_extensions: self.provider_extensions.unwrap_or(provider_extensions),
            stream_usage: self.stream_usage,
            cache: self.cache,
            max_tokens: self.max_tokens.unwrap_or(max_tokens),
            tools: self.tool_schemas,
            answers: self.response_schemas.unwrap_or(SchemaMode::default_for_answers(is_official)),
        };
        let endpoint = self.connection.server(url, headers)?.endpoint("chat/completions");
        let capabilities = self.capabilities.unwrap_or_else(|| default_capabilities(is_official));
        let protocol = ChatCompletions { endpoint, options };
        Ok(OpenAiChatModel(Client::new(protocol, model, self.parameters, capabilities)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ai_services_core::ErrorKind;
    use ai_services_core::model::ChatModel;

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
        assert_eq!(model.name(), DEFAULT_MODEL);
        assert_eq!(model.0.protocol().options.max_tokens, MaxTokensField::MaxTokens);
        assert_eq!(model.0.protocol().options.provider_extensions, ProviderExtensions::Send);
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
        assert_eq!(model.name(), "gpt-4.1");
        assert_eq!(model.0.protocol().options.max_tokens, MaxTokensField::MaxCompletionTokens);
        assert_eq!(model.0.protocol().options.provider_extensions, ProviderExtensions::Omit);
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
