//! Command-line arguments.

use crate::mcp::McpAddress;
use crate::memory_location::MemoryLocation;
use ai_services::providers::ModelName;
use clap::Parser;
use clap::error::ErrorKind;
use std::str::FromStr;

/// Maximum length of a user's name, in characters.
const MAX_NAME_CHARS: usize = 64;

/// A terminal chat with an agent that calls tools and has a separate memory for each user.
///
/// With a question it prints the answer and exits: the answer is written to standard output, everything
/// else to standard error. Without a question it chats until Ctrl-D.
#[derive(Debug, Parser)]
#[command(name = "assistant", version, after_help = ENVIRONMENT)]
pub(crate) struct Args {
    /// Name of the user; each user has a separate memory and separate notes
    #[arg(long, value_name = "NAME", default_value = "me", value_parser = user_name)]
    pub(crate) user: String,

    /// The model: `openai/NAME`, `openai-responses/NAME`, `anthropic/NAME`, `gemini/NAME`, `ollama/NAME`
    /// or `demo`
    #[arg(long, value_name = "PROVIDER/NAME")]
    pub(crate) model: Option<ModelChoice>,

    /// Another server with the protocol of the `--model`; no key is sent to it
    #[arg(long, value_name = "URL", requires = "model")]
    pub(crate) base_url: Option<String>,

    /// Wait for the whole answer; for models that cannot stream
    #[arg(long)]
    pub(crate) no_stream: bool,

    /// Show the model's thinking, if the model sends it
    #[arg(long)]
    pub(crate) thinking: bool,

    /// Ask on the terminal before a tool with an effect runs
    ///
    /// The turn waits until it is answered, also if the program exits: the next start asks again.
    #[arg(long)]
    pub(crate) approve: bool,

    /// Open the chat in a web page for developers instead, and print its address
    ///
    /// The page shows each request, answer, tool call and memory. Only programs of this machine that have the address
    /// can use it.
    #[arg(long, conflicts_with_all = ["question", "no_stream", "list_users", "export"])]
    pub(crate) web: bool,

    /// Add the tools of an MCP server: a command or a URL; may be repeated
    ///
    /// A command is started as a child process, with the words of a shell but without its other features.
    #[arg(long, value_name = "COMMAND|URL")]
    pub(crate) mcp: Vec<McpAddress>,

    /// Print without colors, and Markdown as text; always on when piped
    #[arg(long)]
    pub(crate) plain: bool,

    /// Store for conversations: a file, `postgres://…`, `redis://…` or `none`
    ///
    /// Default: a file in the data directory of this system.
    #[arg(long, value_name = "WHERE", env = "ASSISTANT_MEMORY", hide_env_values = true)]
    pub(crate) memory: Option<MemoryLocation>,

    /// List the users with stored conversations: name, number of messages, last use
    #[arg(long, conflicts_with_all = ["export", "question"])]
    pub(crate) list_users: bool,

    /// Print all stored messages of a user, one JSON object per line
    #[arg(long, value_name = "USER", conflicts_with = "question", value_parser = user_name)]
    pub(crate) export: Option<String>,

    /// A single question to answer
    #[arg(value_name = "QUESTION")]
    question: Vec<String>,
}

const ENVIRONMENT: &str = "\
Without --model, the first of these applies:
  OPENAI_API_KEY or OPENAI_BASE_URL is set   OpenAI or that server, with OPENAI_MODEL
  ANTHROPIC_API_KEY is set                   Anthropic, with ANTHROPIC_MODEL
  GEMINI_API_KEY or GOOGLE_API_KEY is set    Gemini, with GEMINI_MODEL
  an Ollama server answers at OLLAMA_HOST    its first model (default 127.0.0.1:11434)
  otherwise                                  the offline demonstration model

A URL in ASSISTANT_MEMORY is hidden from other users of the machine; a URL on the command line is not.

For a compatible server that requires a key, set OPENAI_BASE_URL and OPENAI_API_KEY.";

/// The model that `--model` selects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ModelChoice {
    Named(ModelName),
    Demo,
}

impl FromStr for ModelChoice {
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
    /// Parses the command line. Exits on invalid arguments, `--help` and `--version`.
    pub(crate) fn read() -> Self {
        let args = Self::parse();
        if let Err((kind, message)) = args.check() {
            use clap::CommandFactory;
            Self::command().error(kind, message).exit();
        }
        args
    }

    /// Checks the rules that involve more than one argument.
    fn check(&self) -> Result<(), (ErrorKind, &'static str)> {
        if self.base_url.is_some() && !matches!(self.model, Some(ModelChoice::Named(_))) {
            let message = "--base-url requires --model PROVIDER/NAME";
            return Err((ErrorKind::ArgumentConflict, message));
        }
        if self.question().is_some_and(|question| question.trim().is_empty()) {
            return Err((ErrorKind::InvalidValue, "the question is empty"));
        }
        Ok(())
    }

    /// Returns the question; quotation marks around it are optional.
    pub(crate) fn question(&self) -> Option<String> {
        (!self.question.is_empty()).then(|| self.question.join(" "))
    }
}

/// Parses a user's name that can be shown in a prompt.
pub(crate) fn user_name(text: &str) -> Result<String, String> {
    let name = text.trim();
    if name.is_empty() || name.chars().any(char::is_control) {
        return Err("a user's name must be one line of text without control characters".to_owned());
    }
    if name.chars().count() > MAX_NAME_CHARS {
        return Err(format!("a user's name can have at most {MAX_NAME_CHARS} characters"));
    }
    Ok(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn model_has_a_provider_and_a_name() {
        assert_eq!("demo".parse(), Ok(ModelChoice::Demo));
        for name in ["openai/gpt-4o-mini", "ollama/hf.co/x:1b", "anthropic/x", "gemini/x"] {
            assert_eq!(name.parse(), Ok(ModelChoice::Named(name.parse().unwrap())));
        }
        for wrong in ["", "openai", "openai/", "ollama/ ", "demo/x", "gpt-4o", "acme/x"] {
            assert!(wrong.parse::<ModelChoice>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn answers_stream_by_default() {
        let args = Args::parse_from(["assistant"]);
        assert!(!args.no_stream && !args.thinking && !args.plain);
        let args = Args::parse_from(["assistant", "--no-stream", "--thinking", "--plain", "hi"]);
        assert!(args.no_stream && args.thinking && args.plain);
    }

    #[test]
    fn question_works_without_quotes() {
        let args = Args::parse_from(["assistant", "--user", "ann", "what", "is", "2+2"]);
        assert_eq!(args.question().as_deref(), Some("what is 2+2"));
        assert_eq!(args.user, "ann");
    }

    #[test]
    fn listing_conflicts_with_export_and_question() {
        for wrong in
            [["--list-users", "--export=ann"], ["--list-users", "hi"], ["--export=a", "hi"]]
        {
            assert!(Args::try_parse_from([&["assistant"], wrong.as_slice()].concat()).is_err());
        }
    }
}
