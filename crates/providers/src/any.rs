//! Chat models by name, as `provider/model`.

#[cfg(feature = "anthropic")]
use super::anthropic::AnthropicChatModel;
#[cfg(feature = "gemini")]
use super::gemini::GeminiChatModel;
#[cfg(feature = "ollama")]
use super::ollama::OllamaChatModel;
#[cfg(feature = "openai")]
use super::openai::{OpenAiChatModel, OpenAiResponsesModel};
use ai_services_core::model::ChatModel;
use ai_services_core::{Error, Result};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// Builds the chat model `provider/model`, with the key and the server from the environment.
///
/// | name | client | environment |
/// |---|---|---|
/// | `openai/gpt-4o-mini` | `openai::OpenAiChatModel` | `OPENAI_API_KEY`, `OPENAI_BASE_URL`, … |
/// | `openai-responses/gpt-5` | `openai::OpenAiResponsesModel` | `OPENAI_API_KEY`, `OPENAI_BASE_URL`, … |
/// | `anthropic/claude-sonnet-4-5` | `anthropic::AnthropicChatModel` | `ANTHROPIC_API_KEY`, `ANTHROPIC_BASE_URL` |
/// | `gemini/gemini-2.5-flash` | `gemini::GeminiChatModel` | `GEMINI_API_KEY` or `GOOGLE_API_KEY`, `GEMINI_BASE_URL` |
/// | `ollama/llama3.2` | `ollama::OllamaChatModel` | `OLLAMA_HOST`, `OLLAMA_API_KEY` |
///
/// The proxies of the environment, such as `HTTPS_PROXY`, apply to all of them.
///
/// Use it if users of your program choose the model. The builder of each client has more settings. For a
/// server that is compatible with OpenAI, use `openai/…` with `OPENAI_BASE_URL` or [`ModelName::build_at`].
///
/// # Errors
///
/// [`ErrorKind::Configuration`](ai_services_core::ErrorKind::Configuration) for a name that is not
/// `provider/model`, for an unknown provider, for a provider whose feature is not enabled, and if the
/// builder of the client fails, for example without a key.
///
/// # Examples
///
/// ```
/// use ai_services::providers::any_model;
///
/// # #[cfg(feature = "ollama")] {
/// let model = any_model("ollama/llama3.2")?;
/// assert_eq!(model.name(), "llama3.2");
/// # }
/// let error = any_model("llama3.2").err().map(|error| error.to_string());
/// assert_eq!(error.as_deref(), Some("`llama3.2` does not name a provider: write `provider/model`"));
/// # Ok::<(), ai_services::Error>(())
/// ```
pub fn any_model(name: &str) -> Result<Arc<dyn ChatModel>> {
    name.parse::<ModelName>()?.build()
}

/// A provider and one of its models, parsed from `provider/model`.
///
/// # Examples
///
/// ```
/// use ai_services::providers::ModelName;
///
/// let name: ModelName = "openai/llama3.2".parse()?;
/// assert_eq!((name.provider(), name.model()), ("openai", "llama3.2"));
/// # #[cfg(feature = "openai")]
/// let local = name.build_at("http://localhost:8080/v1")?;
/// # Ok::<(), ai_services::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelName {
    provider: Provider,
    model: Box<str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Provider {
    OpenAi,
    OpenAiResponses,
    Anthropic,
    Gemini,
    Ollama,
}

impl Provider {
    const ALL: [Self; 5] =
        [Self::OpenAi, Self::OpenAiResponses, Self::Anthropic, Self::Gemini, Self::Ollama];

    fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::OpenAiResponses => "openai-responses",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Ollama => "ollama",
        }
    }

    /// Returns the feature of this crate that contains the client.
    fn feature(self) -> &'static str {
        match self {
            Self::OpenAiResponses => "openai",
            other => other.name(),
        }
    }

    /// Returns `true` if the feature of the provider is enabled.
    fn is_built_in(self) -> bool {
        match self {
            Self::OpenAi | Self::OpenAiResponses => cfg!(feature = "openai"),
            Self::Anthropic => cfg!(feature = "anthropic"),
            Self::Gemini => cfg!(feature = "gemini"),
            Self::Ollama => cfg!(feature = "ollama"),
        }
    }
}

impl ModelName {
    /// Returns the provider, for example `anthropic`.
    #[must_use]
    pub fn provider(&self) -> &'static str {
        self.provider.name()
    }

    /// Returns the provider's name of the model.
    #[must_use]
    pub fn model(&self) -> &str {
        &self.model
    }

    /// Builds the model, with the key and the server from the environment; see [`any_model`].
    ///
    /// # Errors
    ///
    /// The errors of [`any_model`].
    pub fn build(&self) -> Result<Arc<dyn ChatModel>> {
        self.build_with(None)
    }

    /// Builds the model at another server with the provider's protocol.
    ///
    /// Neither the environment nor a key is used.
    ///
    /// # Errors
    ///
    /// The errors of [`any_model`], and for an invalid base URL.
    pub fn build_at(&self, base_url: &str) -> Result<Arc<dyn ChatModel>> {
        self.build_with(Some(base_url))
    }

    fn build_with(&self, base_url: Option<&str>) -> Result<Arc<dyn ChatModel>> {
        // The builders differ in type, but share these setters.
        macro_rules! model {
            ($client:ident) => {{
                let builder = $client::builder().model(&*self.model);
                let builder = match base_url {
                    Some(url) => builder.base_url(url),
                    None => builder,
                };
                Ok(Arc::new(builder.build()?))
            }};
        }
        match self.provider {
            #[cfg(feature = "openai")]
            Provider::OpenAi => model!(OpenAiChatModel),
            #[cfg(feature = "openai")]
            Provider::OpenAiResponses => model!(OpenAiResponsesModel),
            #[cfg(feature = "anthropic")]
            Provider::Anthropic => model!(AnthropicChatModel),
            #[cfg(feature = "gemini")]
            Provider::Gemini => model!(GeminiChatModel),
            #[cfg(feature = "ollama")]
            Provider::Ollama => model!(OllamaChatModel),
            #[allow(unreachable_patterns, reason = "unreachable with all features")]
            other => Err(Error::configuration(format!(
                "the provider `{}` needs the feature `{}` of ai-services",
                other.name(),
                other.feature()
            ))),
        }
    }
}

impl FromStr for ModelName {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let text = text.trim();
        let Some((provider, model)) = text.split_once('/') else {
            return Err(Error::configuration(format!(
                "`{}` does not name a provider: write `provider/model`",
                text.escape_debug()
            )));
        };
        // `google` is a common name of the provider, too.
        let name = if provider == "google" { "gemini" } else { provider };
        let Some(provider) = Provider::ALL.into_iter().find(|known| known.name() == name) else {
            let built_in = Provider::ALL.into_iter().filter(|known| known.is_built_in());
            let known: Vec<_> = built_in.map(|known| format!("`{}/…`", known.name())).collect();
            return Err(Error::configuration(format!(
                "unknown provider `{}`; available: {}",
                provider.escape_debug(),
                known.join(", ")
            )));
        };
        let model = model.trim();
        if model.is_empty() {
            let name = provider.name();
            return Err(Error::configuration(format!("no model: write `{name}/NAME`")));
        }
        Ok(Self { provider, model: model.into() })
    }
}

impl fmt::Display for ModelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.provider.name(), self.model)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(name: &str) -> String {
        name.parse::<ModelName>().unwrap_err().to_string()
    }

    #[test]
    fn name_consists_of_provider_and_model() {
        for name in ["openai/gpt-4o-mini", "ollama/hf.co/x:1b", "anthropic/a", "openai-responses/b"]
        {
            assert_eq!(name.parse::<ModelName>().unwrap().to_string(), name);
        }
        assert_eq!("google/g".parse::<ModelName>().unwrap().provider(), "gemini");
    }

    #[test]
    fn error_of_a_wrong_name_has_a_suggestion() {
        assert_eq!(error("gpt-4o"), "`gpt-4o` does not name a provider: write `provider/model`");
        assert_eq!(error("openai/ "), "no model: write `openai/NAME`");
        let unknown = error("acme/x");
        assert!(unknown.starts_with("unknown provider `acme`; available: "), "{unknown}");
    }

    #[test]
    fn every_enabled_provider_builds_a_model() {
        for provider in Provider::ALL {
            let name = ModelName { provider, model: "m".into() };
            match name.build_at("http://localhost:1") {
                Ok(model) => assert_eq!(model.name(), "m"),
                Err(error) => {
                    assert!(!provider.is_built_in(), "{provider:?}: {error}");
                    assert!(error.to_string().contains(provider.feature()), "{error}");
                }
            }
        }
    }
}
