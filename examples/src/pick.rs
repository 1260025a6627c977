//! Which model answers, and why that one.

use crate::args::Choice;
use crate::demo::DemoModel;
use crate::ollama;
use ai_services::model::ChatModel;
use ai_services::providers::openai::OpenAiChatModel;
use anyhow::Context;
use std::env;
use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::time::Duration;

/// How long the demonstration model takes for a word, if somebody looks on.
const DEMO_PAUSE: Duration = Duration::from_millis(25);

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
        Some(Choice::OpenAi(name)) => {
            let builder = OpenAiChatModel::builder().model(name.as_str());
            let model = match base_url {
                Some(url) => builder.base_url(url).build()?,
                None => builder.build()?,
            };
            Ok(Picked::new("openai", model, asked))
        }
        Some(Choice::Ollama(name)) => {
            let server = ollama::server(variable("OLLAMA_HOST").as_deref())?;
            Ok(Picked::new("ollama", ollama::model(&server, name)?, asked))
        }
        None => what_is_there().await,
    }
}

async fn what_is_there() -> anyhow::Result<Picked> {
    if let Some(set) = ["OPENAI_API_KEY", "OPENAI_BASE_URL"].into_iter().find(|name| is_set(name)) {
        let model = OpenAiChatModel::from_env().context("OpenAI's model")?;
        return Ok(Picked::new("openai", model, format!("{set} is set")));
    }
    let server = ollama::server(variable("OLLAMA_HOST").as_deref())?;
    let no_key = "offline: OPENAI_API_KEY is not set, and";
    match ollama::models(&server).await {
        None => Ok(Picked::demo(format!("{no_key} no Ollama server answers at {server}"))),
        Some(models) => match models.first() {
            None => {
                Ok(Picked::demo(format!("{no_key} the Ollama server at {server} has no model")))
            }
            Some(name) => {
                let why = format!("an Ollama server answers at {server}");
                Ok(Picked::new("ollama", ollama::model(&server, name)?, why))
            }
        },
    }
}

fn is_set(name: &str) -> bool {
    variable(name).is_some()
}

/// The value of a variable, unless it is empty.
fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.trim().is_empty())
}
