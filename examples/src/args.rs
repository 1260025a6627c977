//! The command line.

use crate::place::Place;
use ai_services::providers::ModelName;
use clap::Parser;
use clap::error::ErrorKind;
use std::str::FromStr;

/// How long a user's name may be, in characters.
const LONGEST_NAME: usize = 64;

/// A terminal chat with an agent that calls tools and remembers each user apart.
///
/// With a question it answers that one and ends: the answer goes to standard output, everything
/// else to standard error. Without, it chats until Ctrl-D.
#[derive(Debug, Parser)]
#[command(name = "assistant", version, after_help = ENVIRONMENT)]
pub(crate) struct Args {
    /// Who is talking: each user has a memory and notes of their own
    #[arg(long, value_name = "NAME", default_value = "me", value_parser = user_name)]
    pub(crate) user: String,

    /// The model: `openai/NAME`, `openai-responses/NAME`, `anthropic/NAME`, `gemini/NAME`, `ollama/NAME`
    /// or `demo`
    #[arg(long, value_name = "PROVIDER/NAME")]
    pub(crate) model: Option<Choice>,

    /// Another server that speaks the protocol of the `--model`; it is sent no key
    #[arg(long, value_name = "URL", requires = "model")]
    pub(crate) base_url: Option<String>,

    /// Wait for the whole answer; for models that cannot stream
    #[arg(long)]
    pub(crate) no_stream: bool,

    /// Show what the model thinks, if it tells
    #[arg(long)]
    pub(crate) thinking: bool,

    /// Print answers as they are: no colours, Markdown as text; always so when piped
    #[arg(long)]
    pub(crate) plain: bool,

    /// Where conversations are remembered: a file, `postgres://…`, `redis://…` or `none`
    ///
    /// Without it, a file in the directory that this system has for the data of programs.
    #[arg(long, value_name = "WHERE", env = "ASSISTANT_MEMORY", hide_env_values = true)]
    pub(crate) memory: Option<Place>,

    /// List who is remembered: name, number of messages, last use
    #[arg(long, conflicts_with_all = ["export", "question"])]
    pub(crate) list_users: bool,

    /// Print everything that was said with a user, one JSON object a line
    #[arg(long, value_name = "USER", conflicts_with = "question", value_parser = user_name)]
    pub(crate) export: Option<String>,

    /// A question to answer at once
    #[arg(value_name = "QUESTION")]
    question: Vec<String>,
}

const ENVIRONMENT: &str = "\
Without --model, the first of these:
  OPENAI_API_KEY or OPENAI_BASE_URL is set   OpenAI or that server, with OPENAI_MODEL
  ANTHROPIC_API_KEY is set                   Anthropic, with ANTHROPIC_MODEL
  GEMINI_API_KEY or GOOGLE_API_KEY is set    Gemini, with GEMINI_MODEL
  an Ollama server answers at OLLAMA_HOST    its first model (default 127.0.0.1:11434)
  else                                       the offline demonstration model

A URL in ASSISTANT_MEMORY is not shown to other users of the machine; one on the command line is.

For a compatible server that wants a key, set OPENAI_BASE_URL and OPENAI_API_KEY.";

/// A model that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    Named(ModelName),
    Demo,
}

impl FromStr for Choice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "demo" {
            return Ok(Self::Demo);
        }
        let name = text.parse().map(Self::Named);
        name.map_err(|error: ai_services::Error| format!("{error}; or `demo`"))
    }
}

impl Args {
    /// Reads the command line; wrong use, help and version end the process.
    pub(crate) fn read() -> Self {
        let args = Self::parse();
        if let Err((kind, message)) = args.check() {
            use clap::CommandFactory;
            Self::command().error(kind, message).exit();
        }
        args
    }

    /// The rules that need more than one argument.
    fn check(&self) -> Result<(), (ErrorKind, &'static str)> {
        if self.base_url.is_some() && !matches!(self.model, Some(Choice::Named(_))) {
            let message = "--base-url goes with --model PROVIDER/NAME";
            return Err((ErrorKind::ArgumentConflict, message));
        }
        if self.question().is_some_and(|question| question.trim().is_empty()) {
            return Err((ErrorKind::InvalidValue, "the question is empty"));
        }
        Ok(())
    }

    /// The question, which needs no quotation marks.
    pub(crate) fn question(&self) -> Option<String> {
        (!self.question.is_empty()).then(|| self.question.join(" "))
    }
}

/// A name that can be shown in a prompt.
pub(crate) fn user_name(text: &str) -> Result<String, String> {
    let name = text.trim();
    if name.is_empty() || name.chars().any(char::is_control) {
        return Err("a user's name is text on one line".to_owned());
    }
    if name.chars().count() > LONGEST_NAME {
        return Err(format!("a user's name has at most {LONGEST_NAME} characters"));
    }
    Ok(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn model_is_provider_and_name() {
        assert_eq!("demo".parse(), Ok(Choice::Demo));
        for name in ["openai/gpt-4o-mini", "ollama/hf.co/x:1b", "anthropic/x", "gemini/x"] {
            assert_eq!(name.parse(), Ok(Choice::Named(name.parse().unwrap())));
        }
        for wrong in ["", "openai", "openai/", "ollama/ ", "demo/x", "gpt-4o", "acme/x"] {
            assert!(wrong.parse::<Choice>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn answers_stream_unless_told_otherwise() {
        let args = Args::parse_from(["assistant"]);
        assert!(!args.no_stream && !args.thinking && !args.plain);
        let args = Args::parse_from(["assistant", "--no-stream", "--thinking", "--plain", "hi"]);
        assert!(args.no_stream && args.thinking && args.plain);
    }

    #[test]
    fn question_needs_no_quotes() {
        let args = Args::parse_from(["assistant", "--user", "ann", "what", "is", "2+2"]);
        assert_eq!(args.question().as_deref(), Some("what is 2+2"));
        assert_eq!(args.user, "ann");
    }

    #[test]
    fn listing_goes_with_nothing_else() {
        for wrong in
            [["--list-users", "--export=ann"], ["--list-users", "hi"], ["--export=a", "hi"]]
        {
            assert!(Args::try_parse_from([&["assistant"], wrong.as_slice()].concat()).is_err());
        }
    }
}
