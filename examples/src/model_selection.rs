//! Selection of the model.

use crate::args::ModelChoice;
use crate::demo::DemoModel;
use ai_services::model::ChatModel;
use ai_services::providers::anthropic::AnthropicChatModel;
use ai_services::providers::gemini::GeminiChatModel;
use ai_services::providers::ollama::{OllamaChatModel, OllamaServer};
use ai_services::providers::openai::OpenAiChatModel;
use anyhow::Context;
use std::env;
use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::time::Duration;

/// Pause of the demonstration model before each event of a stream, if standard output is a terminal.
const DEMO_PAUSE: Duration = Duration::from_millis(25);

/// Time limits for a server that may not be running.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(300);
const LIST_TIMEOUT: Duration = Duration::from_secs(2);

/// A model, with its name and the reason for its selection.
pub(crate) struct SelectedModel {
    pub(crate) model: Arc<dyn ChatModel>,
    /// Provider and name of the model.
    pub(crate) name: String,
    /// Reason for the selection.
    pub(crate) reason: String,
}

impl SelectedModel {
    fn new(provider: &str, model: impl ChatModel + 'static, reason: impl Into<String>) -> Self {
        let name = format!("{provider}/{}", model.name());
        Self { model: Arc::new(model), name, reason: reason.into() }
    }

    fn demo(reason: impl Into<String>) -> Self {
        let pause = if io::stdout().is_terminal() { DEMO_PAUSE } else { Duration::ZERO };
        let model = Arc::new(DemoModel::new(pause));
        Self { model, name: "demo".to_owned(), reason: reason.into() }
    }
}

/// Returns the model of `--model`, or the first available one.
pub(crate) async fn select(
    choice: Option<&ModelChoice>,
    base_url: Option<&str>,
) -> anyhow::Result<SelectedModel> {
    let reason = "selected by --model";
    match choice {
        Some(ModelChoice::Demo) => Ok(SelectedModel::demo(reason)),
        Some(ModelChoice::Named(name)) => {
            let model = match base_url {
                Some(url) => name.build_at(url)?,
                None => name.build()?,
            };
            Ok(SelectedModel::new(name.provider(), model, reason))
        }
        None => first_available().await,
    }
}

/// Returns a model for the first key that is set, or a local one.
async fn first_available() -> anyhow::Result<SelectedModel> {
    let find = |names: &[&'static str]| names.iter().copied().find(|name| is_set(name));
    if let Some(set) = find(&["OPENAI_API_KEY", "OPENAI_BASE_URL"]) {
        let model = OpenAiChatModel::from_env().context("cannot create the OpenAI model")?;
        return Ok(SelectedModel::new("openai", model, format!("{set} is set")));
    }
    if let Some(set) = find(&["ANTHROPIC_API_KEY"]) {
        let model = AnthropicChatModel::from_env().context("cannot create the Anthropic model")?;
        return Ok(SelectedModel::new("anthropic", model, format!("{set} is set")));
    }
    if let Some(set) = find(&["GEMINI_API_KEY", "GOOGLE_API_KEY"]) {
        let model = GeminiChatModel::from_env().context("cannot create the Gemini model")?;
        return Ok(SelectedModel::new("gemini", model, format!("{set} is set")));
    }
    local().await
}

/// Returns a model of the Ollama server if it answers, else the demonstration model.
async fn local() -> anyhow::Result<SelectedModel> {
    let server = OllamaServer::builder().connect_timeout(CONNECT_TIMEOUT).timeout(LIST_TIMEOUT);
    let server = server.max_retries(0).build()?;
    let origin = server.origin();
    let no_key = "offline: no key is set, and";
    let Ok(models) = server.models().await else {
        return Ok(SelectedModel::demo(format!("{no_key} no Ollama server answers at {origin}")));
    };
    match models.into_iter().find(|model| !model.looks_like_embedding_model()) {
        None => {
            Ok(SelectedModel::demo(format!("{no_key} the Ollama server at {origin} has no model")))
        }
        Some(found) => {
            let reason = format!("an Ollama server answers at {origin}");
            let model = OllamaChatModel::builder().model(found.name).build()?;
            Ok(SelectedModel::new("ollama", model, reason))
        }
    }
}

fn is_set(name: &str) -> bool {
    variable(name).is_some()
}

/// Returns the value of an environment variable, unless it is empty.
fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.trim().is_empty())
}
