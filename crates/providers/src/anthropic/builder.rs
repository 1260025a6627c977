//! Building an [`AnthropicChatModel`].

use super::options::{Options, ParallelToolCalls, PromptCaching, Thinking};
use super::parameters::Frame;
use super::{AnthropicChatModel, Inner, default_capabilities};
use crate::protocol::connection::{Connection, connection_setters, secret, set};
use crate::protocol::frames::Frames;
#[cfg(doc)]
use ai_services_core::model::Capability;
use ai_services_core::model::{Capabilities, ChatRequestParameters};
use ai_services_core::{Error, Result};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use secrecy::SecretString;
use std::fmt;
use std::sync::Arc;

const ANTHROPIC: &str = "https://api.anthropic.com";
/// The model of [`AnthropicChatModel::from_env`].
const DEFAULT_MODEL: &str = "claude-haiku-4-5";

const API_KEY: HeaderName = HeaderName::from_static("x-api-key");
const VERSION: (&str, &str) = ("anthropic-version", "2023-06-01");

/// The longest answer at Anthropic: all models since Claude 3.7 accept it, and it takes less than
/// the time for one attempt.
const MAX_TOKENS: u32 = 16_384;
/// The longest answer at other servers, some of which refuse more than fits into a small context.
const MAX_TOKENS_ELSEWHERE: u32 = 4096;

/// Builds an [`AnthropicChatModel`].
///
/// Only [`model`](Self::model) is required. With neither [`api_key`](Self::api_key) nor
/// [`base_url`](Self::base_url), key and server come from the environment, as in
/// [`AnthropicChatModel::from_env`]; if one of the two is set, the environment is not read.
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

impl AnthropicChatModelBuilder {
    /// Sets the key, which is sent as `x-api-key`. Servers other than Anthropic's may need none, or
    /// another [`header`](Self::header).
    pub fn api_key(mut self, key: impl Into<String>) -> Self {
        self.connection.api_key = Some(SecretString::from(key.into()));
        self
    }

    /// Sets the server: the URL to which `/v1/messages` is appended, `https://api.anthropic.com` by
    /// default. To one that ends with `/v1` only `/messages` is appended.
    pub fn base_url(mut self, url: impl Into<String>) -> Self {
        self.connection.base_url = Some(url.into());
        self
    }

    /// Sets the model to ask, for example `claude-haiku-4-5`.
    pub fn model(mut self, model: impl Into<Box<str>>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// Asks for a feature that is not generally available, by the name that Anthropic gives it, for
    /// example `context-1m-2025-08-07`. May be called several times.
    pub fn beta(mut self, name: impl Into<String>) -> Self {
        self.betas.push(name.into());
        self
    }

    /// Sets parameters for all requests; those of a request win over them.
    ///
    /// The API demands a longest answer. If nobody sets `max_output_tokens` it is 16384 at Anthropic
    /// and 4096 at other servers, in addition to the [budget](Thinking::Budget) for thinking. The API
    /// has no penalties and no seed: a request for them fails before it is sent. `reasoning_effort`
    /// is sent as `output_config.effort`, [`Minimal`](ai_services_core::model::ReasoningEffort::Minimal) as
    /// `low`. A tool choice is sent only with tools.
    pub fn parameters(mut self, parameters: ChatRequestParameters) -> Self {
        self.parameters = parameters;
        self
    }

    connection_setters!(streams);

    /// Sets whether the model thinks before it answers; by default nothing is said about it, and
    /// models before Claude 5 mostly do not.
    pub fn thinking(mut self, thinking: Thinking) -> Self {
        self.thinking = Some(thinking);
        self
    }

    /// Sets what the provider keeps of a request to make the next one cheaper; nothing by default.
    pub fn prompt_caching(mut self, caching: PromptCaching) -> Self {
        self.caching = caching;
        self
    }

    /// Sets whether the model may call several tools in one answer; it may by default.
    pub fn parallel_tool_calls(mut self, parallel: ParallelToolCalls) -> Self {
        self.parallel = parallel;
        self
    }

    /// Sets what the model can do.
    ///
    /// By default that is what Anthropic's models since Claude 4.5 can: tools, a choice of them,
    /// answers by a schema, also beside tools, streams, images and PDF documents. While it is made to
    /// [think](Self::thinking) a model cannot be told which tool to call. Servers other than
    /// Anthropic's mostly ignore a schema, so that they are asked without.
    ///
    /// Older models should be described without [`Capability::JsonSchema`] and
    /// [`Capability::JsonSchemaWithTools`]; a service then takes the answer by a tool. Recordings,
    /// videos and [`Capability::JsonObject`] are nothing that the protocol has.
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
    /// assert!(!model.capabilities().include(Capability::JsonSchema));
    /// # Ok::<(), ai_services::Error>(())
    /// ```
    pub fn capabilities(mut self, capabilities: Capabilities) -> Self {
        self.capabilities = Some(capabilities);
        self
    }

    /// The model.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Configuration`](ai_services_core::ErrorKind::Configuration) without a model, without a key
    /// for Anthropic, for a base URL that is not one, a key, header or beta that HTTP cannot carry, a
    /// budget for thinking below 1024 tokens, and if TLS cannot be set up.
    pub fn build(self) -> Result<AnthropicChatModel> {
        self.build_with(|name| std::env::var(name).ok())
    }

    /// The model of [`AnthropicChatModel::from_env`].
    pub(super) fn from_env(var: impl Fn(&str) -> Option<String>) -> Result<AnthropicChatModel> {
        let model = set(&var, "ANTHROPIC_MODEL").unwrap_or_else(|| DEFAULT_MODEL.to_owned());
        Self::default().model(model).build_with(var)
    }

    fn build_with(mut self, var: impl Fn(&str) -> Option<String>) -> Result<AnthropicChatModel> {
        let connection = &mut self.connection;
        if connection.api_key.is_none() && connection.base_url.is_none() {
            connection.api_key = set(&var, "ANTHROPIC_API_KEY").map(SecretString::from);
            connection.base_url = set(&var, "ANTHROPIC_BASE_URL");
        }
        let url = self.connection.base(ANTHROPIC)?;
        let headers = self.encode_headers()?;
        let host = url.host_str().unwrap_or_default();
        let is_anthropic = host == "anthropic.com" || host.ends_with(".anthropic.com");
        let has_key = headers.contains_key(&API_KEY)
            || ["x-api-key", "authorization"].iter().any(|name| self.connection.has_header(name));
        if is_anthropic && !has_key {
            return Err(Error::configuration(
                "no API key: set the environment variable ANTHROPIC_API_KEY or call `api_key`",
            ));
        }
        let model = self.parameters.model.clone().or(self.model);
        let model = model.ok_or_else(|| Error::configuration("no model: call `model`"))?;
        let budget = match self.thinking {
            Some(Thinking::Budget(tokens)) if tokens < Thinking::MIN_BUDGET => {
                return Err(Error::configuration(
                    "a model that thinks needs a budget of at least 1024 tokens",
                ));
            }
            Some(Thinking::Budget(tokens)) => tokens,
            _ => 0,
        };
        let max_tokens = if is_anthropic { MAX_TOKENS } else { MAX_TOKENS_ELSEWHERE };
        let options = Options {
            thinking: self.thinking,
            caching: self.caching,
            parallel: self.parallel,
            max_tokens: max_tokens.saturating_add(budget),
        };
        let capabilities =
            self.capabilities.unwrap_or_else(|| default_capabilities(is_anthropic, &options));
        let has_version = url.path().ends_with("/v1");
        let path = if has_version { "messages" } else { "v1/messages" };
        let frames = Frames::new(self.parameters, |parameters, delivery| {
            Frame::new(parameters, &model, &options, delivery)
        });
        Ok(AnthropicChatModel(Arc::new(Inner {
            frames,
            endpoint: self.connection.server(url, headers)?.endpoint(path),
            options,
            model,
            capabilities,
        })))
    }

    fn encode_headers(&self) -> Result<HeaderMap> {
        let mut headers = HeaderMap::new();
        let (name, version) = VERSION;
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(version));
        if let Some(key) = self.connection.key() {
            headers.insert(API_KEY, secret(key, "the API key")?);
        }
        if !self.betas.is_empty() {
            let betas = HeaderValue::from_str(&self.betas.join(",")).map_err(|source| {
                let wrong = "the name of a beta contains characters that a header cannot carry";
                Error::configuration(wrong).with_source(source)
            })?;
            headers.insert(HeaderName::from_static("anthropic-beta"), betas);
        }
        Ok(headers)
    }
}

impl fmt::Debug for AnthropicChatModelBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnthropicChatModelBuilder")
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
        let bearer = AnthropicChatModel::builder().base_url(ANTHROPIC).model("m");
        assert!(bearer.header("Authorization", "Bearer x").build().is_ok());
    }

    #[test]
    fn local_server_needs_no_key() {
        let model = from_env(&[("ANTHROPIC_BASE_URL", "http://localhost:8080")]).unwrap();
        assert_eq!(&*model.0.model, DEFAULT_MODEL);
        assert_eq!(model.0.options.max_tokens, MAX_TOKENS_ELSEWHERE);
        assert!(!model.capabilities().include(Capability::JsonSchema));
        assert!(local().build_with(|_| unreachable!("the environment is not read")).is_ok());
    }

    #[test]
    fn environment_sets_everything() {
        let variables =
            [("ANTHROPIC_API_KEY", "sk-canary\n"), ("ANTHROPIC_MODEL", "claude-opus-5")];
        let model = from_env(&variables).unwrap();
        assert_eq!(model.name(), "claude-opus-5");
        assert_eq!(model.0.options.max_tokens, MAX_TOKENS);
        assert!(model.capabilities().include(Capability::JsonSchemaWithTools));
        assert!(!format!("{model:?}").contains("canary"));
    }

    #[test]
    fn path_is_appended_once() {
        let url = |base: &str| {
            let model = AnthropicChatModel::builder().base_url(base).model("m").build().unwrap();
            model.0.endpoint.url().to_owned()
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
        assert_eq!(model.0.options.max_tokens, MAX_TOKENS_ELSEWHERE + 2000);
        assert!(!model.capabilities().include(Capability::ToolChoice));
        let error = local().thinking(Thinking::Budget(1000)).build().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Configuration);
    }

    #[test]
    fn what_no_header_can_carry_is_not_repeated() {
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
