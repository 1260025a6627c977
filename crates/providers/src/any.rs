//! Models by the name of their provider and their own.

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

/// The chat model `provider/model`, with key and server from the environment.
///
/// | name | client | environment |
/// |---|---|---|
/// | `openai/gpt-4o-mini` | `openai::OpenAiChatModel` | `OPENAI_API_KEY`, `OPENAI_BASE_URL`, … |
/// | `openai-responses/gpt-5` | `openai::OpenAiResponsesModel` | the same |
/// | `anthropic/claude-sonnet-4-5` | `anthropic::AnthropicChatModel` | `ANTHROPIC_API_KEY`, `ANTHROPIC_BASE_URL` |
/// | `gemini/gemini-2.5-flash` | `gemini::GeminiChatModel` | `GEMINI_API_KEY` or `GOOGLE_API_KEY`, `GEMINI_BASE_URL` |
/// | `ollama/llama3.2` | `ollama::OllamaChatModel` | `OLLAMA_HOST`, `OLLAMA_API_KEY` |
///
/// For a choice that a user of your program makes; a client's own builder can be told more. Servers that
/// are compatible with OpenAI are `openai/…` with `OPENAI_BASE_URL`, or [`ModelName::build_at`].
///
/// # Errors
///
/// [`ErrorKind::Configuration`](ai_services_core::ErrorKind::Configuration) for a name that is not
/// `provider/model`, for a provider that is unknown or whose feature is not enabled, and whenever the
/// client's builder fails, for example without a key.
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
/// assert_eq!(error.as_deref(), Some("`llama3.2` names no provider: write `provider/model`"));
/// # Ok::<(), ai_services::Error>(())
/// ```
pub fn any_model(name: &str) -> Result<Arc<dyn ChatModel>> {
    name.parse::<ModelName>()?.build()
}

/// A provider and one of its models, read from `provider/model`.
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

    /// The feature of this crate that it needs.
    fn feature(self) -> &'static str {
        match self {
            Self::OpenAiResponses => "openai",
            other => other.name(),
        }
    }

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
    /// The provider, for example `anthropic`.
    #[must_use]
    pub fn provider(&self) -> &'static str {
        self.provider.name()
    }

    /// The model, as the provider calls it.
    #[must_use]
    pub fn model(&self) -> &str {
        &self.model
    }

    /// The model, with key and server from the environment; see [`any_model`].
    ///
    /// # Errors
    ///
    /// As [`any_model`].
    pub fn build(&self) -> Result<Arc<dyn ChatModel>> {
        self.build_with(None)
    }

    /// The model at another server that speaks the provider's protocol. The environment is not read, so
    /// no key is sent there.
    ///
    /// # Errors
    ///
    /// As [`any_model`], and for a base URL that is not one.
    pub fn build_at(&self, base_url: &str) -> Result<Arc<dyn ChatModel>> {
        self.build_with(Some(base_url))
    }

    fn build_with(&self, base_url: Option<&str>) -> Result<Arc<dyn ChatModel>> {
        /// Builders differ in type, not in what is set here.
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
            #[allow(unreachable_patterns, reason = "with all features none is left")]
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
                "`{}` names no provider: write `provider/model`",
                text.escape_debug()
            )));
        };
        // Google's own name is in use, too.
        let wanted = if provider == "google" { "gemini" } else { provider };
        let Some(provider) = Provider::ALL.into_iter().find(|known| known.name() == wanted) else {
            let built_in = Provider::ALL.into_iter().filter(|known| known.is_built_in());
            let known: Vec<_> = built_in.map(|known| format!("`{}/…`", known.name())).collect();
            return Err(Error::configuration(format!(
                "the provider `{}` is unknown; there are {}",
                provider.escape_debug(),
                known.join(", ")
            )));
        };
        let model = model.trim();
        if model.is_empty() {
            let name = provider.name();
            return Err(Error::configuration(format!("say which model: `{name}/NAME`")));
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
    fn name_is_provider_and_model() {
        for name in ["openai/gpt-4o-mini", "ollama/hf.co/x:1b", "anthropic/a", "openai-responses/b"]
        {
            assert_eq!(name.parse::<ModelName>().unwrap().to_string(), name);
        }
        assert_eq!("google/g".parse::<ModelName>().unwrap().provider(), "gemini");
    }

    #[test]
    fn wrong_name_is_an_error_that_says_what_to_write() {
        assert_eq!(error("gpt-4o"), "`gpt-4o` names no provider: write `provider/model`");
        assert_eq!(error("openai/ "), "say which model: `openai/NAME`");
        let unknown = error("acme/x");
        assert!(unknown.starts_with("the provider `acme` is unknown; there are "), "{unknown}");
    }

    #[test]
    fn every_provider_that_is_built_in_makes_a_model() {
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
