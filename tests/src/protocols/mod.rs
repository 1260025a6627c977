//! Chat protocols as a table: constructors of the clients, and answers of the servers.

#[cfg(feature = "anthropic")]
mod anthropic;
mod exchange;
#[cfg(feature = "gemini")]
mod gemini;
#[cfg(feature = "ollama")]
mod ollama;
mod openai_chat;
mod openai_responses;

pub use exchange::{Exchange, Mode, Outcome, assert_begins, content_of, exchanges, hello};

use crate::PATIENCE;
use ai_services::Result;
use ai_services::model::{ChatModel, ModelStreamEvent};
use std::sync::Arc;
use std::time::Duration;

/// The key of every client here. It must not appear in anything that is printed.
pub const CANARY: &str = "sk-canary-7f3a9c";

/// The text of every answer here.
pub const TEXT: &str = "Hi, é and 😀!";

/// A protocol, and the client that speaks it.
#[derive(Clone, Copy)]
pub struct Protocol {
    /// The name in test reports, for example `anthropic`.
    pub name: &'static str,
    /// A client with the key [`CANARY`].
    pub client: fn(&Client<'_>) -> Result<Arc<dyn ChatModel>>,
    /// The document that answers a request: [`TEXT`], one call of the tool `weather` with the arguments
    /// `{"city":"Oslo"}`, thinking where the protocol has it, and the tokens it cost.
    pub whole: fn() -> String,
    /// The same answer as a stream, the text in several pieces.
    pub stream: fn() -> String,
    /// The content type of streams.
    pub stream_type: &'static str,
    /// An error in the middle of a stream, as the server writes it, ready to be put between two events.
    pub stream_error: fn() -> String,
    /// The body of an error with this message.
    pub error: fn(&str) -> String,
    /// The events of a streamed body that is given in pieces, without a network.
    pub read: fn(Vec<Vec<u8>>) -> Vec<Result<ModelStreamEvent>>,
}

impl std::fmt::Debug for Protocol {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// Settings of a client.
#[derive(Clone, Copy, Debug)]
pub struct Client<'a> {
    /// Scheme, host and port of the server; each protocol adds its usual path.
    pub server: &'a str,
    /// Maximum number of retries.
    pub max_retries: u32,
    /// Delay before the first retry.
    pub retry_delay: Duration,
    /// Time limit of an attempt.
    pub timeout: Duration,
    /// Time limit of a call.
    pub deadline: Option<Duration>,
    /// Idle timeout of a stream.
    pub stream_idle_timeout: Duration,
    /// Size limit of a document, in bytes.
    pub max_response_bytes: usize,
    /// Size limit of a stream, in bytes.
    pub max_stream_bytes: usize,
}

impl<'a> Client<'a> {
    /// A client of this server that never retries, with generous limits.
    #[must_use]
    pub fn of(server: &'a str) -> Self {
        Self {
            server,
            max_retries: 0,
            retry_delay: Duration::from_millis(1),
            timeout: PATIENCE,
            deadline: None,
            stream_idle_timeout: PATIENCE,
            max_response_bytes: 16 << 20,
            max_stream_bytes: 64 << 20,
        }
    }
}

/// Applies the settings to a builder. All builders have the same setters.
macro_rules! set_up {
    ($builder:expr, $client:expr) => {{
        let client: &$crate::protocols::Client<'_> = $client;
        let builder = $builder
            .max_retries(client.max_retries)
            .retry_delay(client.retry_delay)
            .timeout(client.timeout)
            .stream_idle_timeout(client.stream_idle_timeout)
            .max_response_bytes(client.max_response_bytes)
            .max_stream_bytes(client.max_stream_bytes);
        match client.deadline {
            Some(deadline) => builder.deadline(deadline),
            None => builder,
        }
    }};
}
pub(crate) use set_up;

/// Returns all enabled protocols.
#[must_use]
pub fn all() -> Vec<Protocol> {
    vec![
        openai_chat::PROTOCOL,
        openai_responses::PROTOCOL,
        #[cfg(feature = "ollama")]
        ollama::PROTOCOL,
        #[cfg(feature = "anthropic")]
        anthropic::PROTOCOL,
        #[cfg(feature = "gemini")]
        gemini::PROTOCOL,
    ]
}
