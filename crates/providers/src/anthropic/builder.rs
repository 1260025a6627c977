//! The builder of [`AnthropicChatModel`].

use super::ParallelToolCalls;
use super::options::{Options, PromptCaching, Thinking};
use super::{AnthropicChatModel, Messages, default_capabilities};
use crate::protocol::builder::{builder_methods, debug_fields, required_model};
use crate::protocol::client::Client;
use crate::protocol::connection::{Connection, connection_setters};
use crate::protocol::site::{KeyHeader, Site, Target};
#[cfg(doc)]
use ai_services_core::model::Capability;
use ai_services_core::model::{Capabilities, ChatRequestParameters};
use ai_services_core::{Error, Result};
use reqwest::header::{HeaderName, HeaderValue};

static ANTHROPIC: Site = Site {
    base_url: "https://api.anthropic.com",
    domains: &["anthropic.com"],
    key_variables: &["ANTHROPIC_API_KEY"],
    base_url_variable: "ANTHROPIC_BASE_URL",
    key_header: KeyHeader::Named("x-api-key"),
};

const VERSION: HeaderName = HeaderName::from_static("anthropic-version");
const BETA: HeaderName = HeaderName::from_static("anthropic-beta");

/// The model of [`AnthropicChatModel::from_env`].
const DEFAULT_MODEL: &str = "claude-haiku-4-5";

/// Maximum answer at Anthropic, in tokens: all models since Claude 3.7 accept it, and writing it takes
/// less than the timeout of an attempt.
const MAX_TOKENS: u32 = 16_384;
/// Maximum answer at other servers, some of which reject more than fits into a small context.
const MAX_TOKENS_ELSEWHERE: u32 = 4096;

/// Builds an [`AnthropicChatModel`].
///
/// Only [`model`](Self::model) is required. If neither [`api_key`](Self::api_key) nor
/// [`base_url`](Self::base_url) is set, the key and the server come from the environment, as in
/// [`AnthropicChatModel::from_env`].
///
/// # Examples
///
/// ```
/// use ai_services::model::ChatRequestParameters;
/// use ai_services::providers::anthropic::{AnthropicChatModel, CacheLifetime, PromptCaching, Thinking};
///
/// let model = AnthropicChatModel::builder()
///     .api_key("secret")
///     .model("claude-sonnet-4-6")
///     .parameters(ChatRequestParameters::new().max_output_tokens(32_000))
///     .thinking(Thinking::Adaptive)
///     .prompt_caching(PromptCaching::Conversation(CacheLifetime::FiveMinutes))
///     .build()?;
/// assert!(!format!("{model:?}").contains("secret"));
/// # Ok::<(), ai_services::Error>(())
/// ```
#[derive(Default)]
#[must_use]
pub struct AnthropicChatModelBuilder {
    connection: Connection,
    betas: Vec<String>,
    model: Option<Box<str>>,
    parameters: ChatRequestParameters,
    thinking: Option<Thinking>,
    caching: PromptCaching,
    parallel: ParallelToolCalls,
    capabilities: Option<Capabilities>,
}

debug_fields!(AnthropicChatModelBuilder { model, connection, parameters });

impl AnthropicChatModelBuilder {
    builder_methods! {
        /// Sets the API key, which is sent as `x-api-key`. Servers other than Anthropic's may need none,
        /// or another [`header`](Self::header).
        api_key;
        /// Sets the server: the URL to which `/v1/messages` is appended, or `/messages` if the URL ends
        /// with `/v1`. Default: `https://api.anthropic.com`.
        base_url;
        /// Sets the model, for example `claude-haiku-4-5`.
        model;
        /// Sets the parameters of all requests. Parameters of a request win over them.
        ///
        /// The API requires `max_output_tokens`. Default: 16384 at Anthropic and 4096 at other servers,
        /// in addition to the [budget](Thinking::Budget) for thinking. A request with penalties or a seed
        /// fails, because the API has none. `reasoning_effort` is sent as `output_config.effort`, with
        /// [`Minimal`](ai_services_core::model::ReasoningEffort::Minimal) as `low`. A tool choice is sent
        /// only with tools.
        parameters;
    }

    /// Adds a beta feature by Anthropic's name for it, for example `context-1m-2025-08-07`.
    pub fn beta(mut self, name: impl Into<String>) -> Self {
        self.betas.push(name.into());
        self
    }

    connection_setters!(streams);

    /// Sets whether the model thinks before it answers. Default: the model's own, which is no thinking
    /// for most models before Claude 5.
    pub fn thinking(mut self, thinking: Thinking) -> Self {
        self.thinking = Some(thinking);
        self
    }

    /// Sets the part of a request that the provider caches. Default: [`Off`](PromptCaching::Off).
    pub fn prompt_caching(mut self, caching: PromptCaching) -> Self {
        self.caching = caching;
        self
    }

    /// Sets whether one answer may call several tools. Default:
    /// [`Allowed`](ParallelToolCalls::Allowed).
    pub fn parallel_tool_calls(mut self, parallel: ParallelToolCalls) -> Self {
        self.parallel = parallel;
        self
    }

    builder_methods! {
        /// Sets the capabilities of the model.
        ///
        /// Default: those of Anthropic's models since Claude 4.5, which are tools, tool choice, schemas
        /// (beside tools, too), streams, images and PDF documents. A model with
        /// [thinking](Self::thinking) has no tool choice. Servers other than Anthropic's get no schema,
        /// because most ignore it.
        ///
        /// Describe older models without [`Capability::JsonSchema`] and
        /// [`Capability::JsonSchemaWithTools`]; a service then requests the answer as a tool call. The
        /// API has no recordings, videos and [`Capability::JsonObject`].
        ///
        /// # Examples
        ///
        /// ```
        /// use ai_services::model::{Capabilities, Capability, ChatModel};
        /// use ai_services::providers::anthropic::AnthropicChatModel;
        ///
        /// let can = [Capability::Tools, Capability::ToolChoice, Capability::Streaming, Capability::Images];
        /// let model = AnthropicChatModel::builder()
        ///     .api_key("secret")
        ///     .model("claude-sonnet-4-0")
        ///     .capabilities(Capabilities::of(can))
        ///     .build()?;
        /// assert!(!model.capabilities().contains(Capability::JsonSchema));
        /// # Ok::<(), ai_services::Error>(())
        /// ```
        capabilities;
        /// Builds the model. Sends nothing.
        ///
        /// # Errors
        ///
        /// [`ErrorKind::Configuration`](ai_services_core::ErrorKind::Configuration) without a model,
        /// without a key for Anthropic, for an invalid base URL, for a key, header or beta that HTTP
        /// cannot carry, for a thinking budget below 1024 tokens, and if TLS cannot be set up.
        build -> AnthropicChatModel;
        from_env("ANTHROPIC_MODEL", DEFAULT_MODEL) -> AnthropicChatModel;
    }

    fn build_with(mut self, var: impl Fn(&str) -> Option<String>) -> Result<AnthropicChatModel> {
        let Target { url, mut headers, is_official } =
            ANTHROPIC.target(&mut self.connection, var)?;
        headers.insert(VERSION, HeaderValue::from_static("2023-06-01"));
        if !self.betas.is_empty() {
            headers.insert(BETA, self.encode_betas()?);
        }
        let model = required_model(self.parameters.model.clone().or(self.model))?;
        let options = Options {
            thinking: self.thinking,
            caching: self.caching,
            parallel: self.parallel,
            max_tokens: max_tokens(is_official, self.thinking)?,
        };
        let path = if url.path().ends_with("/v1") { "messages" } else { "v1/messages" };
        let endpoint = self.connection.server(url, headers)?.endpoint(path);
        let capabilities = self
            .capabilities
            .unwrap_or_else(|| default_capabilities(is_official, &model, &options));
        let protocol = Messages { endpoint, options };
        Ok(AnthropicChatModel(Client::new(protocol, model, self.parameters, capabilities)))
    }

    fn encode_betas(&self) -> Result<HeaderValue> {
        HeaderValue::from_str(&self.betas.join(",")).map_err(|source| {
            let message = "the name of a beta contains characters that a header cannot carry";
            Error::configuration(message).with_source(source)
        })
    }
}

/// Returns the maximum answer of requests that set none, thinking included.
fn max_tokens(is_official: bool, thinking: Option<Thinking>) -> Result<u32> {
    let answer = if is_official { MAX_TOKENS } else { MAX_TOKENS_ELSEWHERE };
    match thinking {
        Some(Thinking::Budget(budget)) if budget < Thinking::MIN_BUDGET => {
            Err(Error::configuration("a model that thinks needs a budget of at least 1024 tokens"))
        }
        Some(Thinking::Budget(budget)) => Ok(answer.saturating_add(budget)),
        _ => Ok(answer),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ai_services_core::ErrorKind;
    use ai_services_core::model::{Capability, ChatModel};

    fn from_env(variables: &[(&str, &str)]) -> Result<AnthropicChatModel> {
        AnthropicChatModelBuilder::from_env(|name| {
            let found = variables.iter().find(|(variable, _)| *variable == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    fn local() -> AnthropicChatModelBuilder {
        AnthropicChatModel::builder().base_url("http://localhost").model("m")
    }

    #[test]
    fn missing_key_names_the_variable() {
        for variables in [
            vec![],
            vec![("ANTHROPIC_API_KEY", " ")],
            vec![("ANTHROPIC_BASE_URL", "https://api.anthropic.com/")],
        ] {
            let error = from_env(&variables).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Configuration);
            assert!(error.to_string().contains("ANTHROPIC_API_KEY"), "{error}");
        }
        let bearer = AnthropicChatModel::builder().base_url(ANTHROPIC.base_url).model("m");
        assert!(bearer.header("Authorization", "Bearer x").build().is_ok());
    }

    #[test]
    fn local_server_needs_no_key() {
        let model = from_env(&[("ANTHROPIC_BASE_URL", "http://localhost:8080")]).unwrap();
        assert_eq!(model.name(), DEFAULT_MODEL);
        assert_eq!(model.0.protocol().options.max_tokens, MAX_TOKENS_ELSEWHERE);
        assert!(!model.capabilities().contains(Capability::JsonSchema));
        assert!(local().build_with(|_| unreachable!("the environment is not read")).is_ok());
    }

    #[test]
    fn environment_sets_everything() {
        let variables =
            [("ANTHROPIC_API_KEY", "sk-canary\n"), ("ANTHROPIC_MODEL", "claude-opus-5")];
        let model = from_env(&variables).unwrap();
        assert_eq!(model.name(), "claude-opus-5");
        assert_eq!(model.0.protocol().options.max_tokens, MAX_TOKENS);
        assert!(model.capabilities().contains(Capability::JsonSchemaWithTools));
        assert!(!format!("{model:?}").contains("canary"));
    }

    #[test]
    fn path_is_appended_once() {
        let url = |base: &str| {
            let model = AnthropicChatModel::builder().base_url(base).model("m").build().unwrap();
            model.0.protocol().endpoint.url().to_owned()
        };
        let expected = "http://localhost:1/v1/messages";
        for base in ["http://localhost:1", "http://localhost:1/", "http://localhost:1/v1/"] {
            assert_eq!(url(base), expected, "{base}");
        }
        assert_eq!(url("http://h/anthropic"), "http://h/anthropic/v1/messages");
    }

    #[test]
    fn thinking_leaves_room_for_the_answer() {
        let model = local().thinking(Thinking::Budget(2000)).build().unwrap();
        assert_eq!(model.0.protocol().options.max_tokens, MAX_TOKENS_ELSEWHERE + 2000);
        assert!(!model.capabilities().contains(Capability::ToolChoice));
        assert!(model.capabilities().contains(Capability::ForbidTools));
        let error = local().thinking(Thinking::Budget(1000)).build().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Configuration);
    }

    #[test]
    fn invalid_header_value_is_not_repeated() {
        let errors = [
            local().api_key("ca\nnary").build().unwrap_err(),
            local().beta("ca\nnary").build().unwrap_err(),
        ];
        for error in errors {
            assert_eq!(error.kind(), ErrorKind::Configuration);
            assert!(!format!("{error:?}").contains("nary"), "{error:?}");
        }
        let builder = local().api_key("canary").header("x", "canary").base_url("http://canary/");
        assert!(!format!("{builder:?}").contains("canary"), "{builder:?}");
    }
}
