//! Which model answers, and why that one.

use crate::args::Choice;
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

/// How long the demonstration model takes for a word, if somebody looks on.
const DEMO_PAUSE: Duration = Duration::from_millis(25);

/// How long a server that may not be there is waited for.
const CONNECTING: Duration = Duration::from_millis(300);
const LISTING: Duration = Duration::from_secs(2);

/// A model, with what to tell the person about it.
pub(crate) struct Picked {
    pub(crate) model: Arc<dyn ChatModel>,
    /// Provider and name.
    pub(crate) name: String,
    /// Why this one.
    pub(crate) why: String,
}

impl Picked {
    fn new(provider: &str, model: impl ChatModel + 'static, why: impl Into<String>) -> Self {
        let name = format!("{provider}/{}", model.name());
        Self { model: Arc::new(model), name, why: why.into() }
    }

    fn demo(why: impl Into<String>) -> Self {
        let pause = if io::stdout().is_terminal() { DEMO_PAUSE } else { Duration::ZERO };
        let model = Arc::new(DemoModel::new(pause));
        Self { model, name: "demo".to_owned(), why: why.into() }
    }
}

/// The model that was asked for, else the best that is there.
pub(crate) async fn pick(
    choice: Option<&Choice>,
    base_url: Option<&str>,
) -> anyhow::Result<Picked> {
    let asked = "as asked by --model";
    match choice {
        Some(Choice::Demo) => Ok(Picked::demo(asked)),
        Some(Choice::Named(name)) => {
            let model = match base_url {
                Some(url) => name.build_at(url)?,
                None => name.build()?,
            };
            Ok(Picked::new(name.provider(), model, asked))
        }
        None => what_is_there().await,
    }
}

async fn what_is_there() -> anyhow::Result<Picked> {
    let find = |names: &[&'static str]| names.iter().copied().find(|name| is_set(name));
    if let Some(set) = find(&["OPENAI_API_KEY", "OPENAI_BASE_URL"]) {
        let model = OpenAiChatModel::from_env().context("OpenAI's model")?;
        return Ok(Picked::new("openai", model, format!("{set} is set")));
    }
    if let Some(set) = find(&["ANTHROPIC_API_KEY"]) {
        let model = AnthropicChatModel::from_env().context("Anthropic's model")?;
        return Ok(Picked::new("anthropic", model, format!("{set} is set")));
    }
    if let Some(set) = find(&["GEMINI_API_KEY", "GOOGLE_API_KEY"]) {
        let model = GeminiChatModel::from_env().context("Google's model")?;
        return Ok(Picked::new("gemini", model, format!("{set} is set")));
    }
    local().await
}

/// A model of an Ollama server, if one answers.
async fn local() -> anyhow::Result<Picked> {
    let server = OllamaServer::builder().connect_timeout(CONNECTING).timeout(LISTING);
    let server = server.max_retries(0).build()?;
    let origin = server.origin();
    let no_key = "offline: no key is set, and";
    let Ok(models) = server.models().await else {
        return Ok(Picked::demo(format!("{no_key} no Ollama server answers at {origin}")));
    };
    match models.into_iter().find(|model| !model.seems_for_embeddings()) {
        None => Ok(Picked::demo(format!("{no_key} the Ollama server at {origin} has no model"))),
        Some(found) => {
            let why = format!("an Ollama server answers at {origin}");
            let model = OllamaChatModel::builder().model(found.name).build()?;
            Ok(Picked::new("ollama", model, why))
        }
    }
}

fn is_set(name: &str) -> bool {
    variable(name).is_some()
}

/// The value of a variable, unless it is empty.
fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.trim().is_empty())
}
