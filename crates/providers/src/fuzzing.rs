//! Entry points of the fuzz targets and of the tests that replay their corpus. Each function takes
//! arbitrary bytes and panics if an invariant does not hold.

use crate::http::{Framing, in_memory};
use ai_services_core::message::ToolCall;
use ai_services_core::model::{ModelStreamEvent, PartialAnswer, TokenUsage};
use ai_services_core::{ErrorKind, Result};

/// Checks that server-sent events do not depend on the boundaries of the chunks.
///
/// The first byte is the size of the chunks.
pub fn sse(input: &[u8]) {
    let Some((size, body)) = input.split_first() else { return };
    let read = |pieces| -> Vec<_> {
        in_memory::read(pieces, Framing::Events)
            .into_iter()
            .map(|event| event.map_err(|error| error.kind()))
            .collect()
    };
    let whole = read(vec![body.to_vec()]);
    assert_eq!(whole, read(split(body, *size)), "split into {size}");
    let errors = whole.iter().filter(|event| event.is_err()).count();
    assert!(errors == 0 || (errors == 1 && whole.last().is_some_and(|last| last.is_err())));
}

/// Checks that the events of a stream do not depend on the boundaries of the chunks, that they add up
/// to the answer, and that an incomplete answer is an error.
///
/// The first byte is the size of the chunks.
fn check_stream(input: &[u8], read: impl Fn(Vec<Vec<u8>>) -> Vec<Result<ModelStreamEvent>>) {
    let Some((size, body)) = input.split_first() else { return };
    let whole = summary(&read(vec![body.to_vec()]));
    let pieces = summary(&read(split(body, *size)));
    assert_eq!(whole, pieces, "split into {size}");
}

/// Checks that a stream of the chat completions API ends with a whole answer or an error.
#[cfg(feature = "openai")]
pub fn chat_stream(input: &[u8]) {
    check_stream(input, chat_events);
}

/// Returns the events of a stream of the chat completions API with these chunks.
#[cfg(feature = "openai")]
pub fn chat_events(pieces: impl IntoIterator<Item = Vec<u8>>) -> Vec<Result<ModelStreamEvent>> {
    crate::openai::read_chat_pieces(pieces)
}

/// Checks that a stream of the responses API ends with a whole answer or an error.
#[cfg(feature = "openai")]
pub fn responses_stream(input: &[u8]) {
    check_stream(input, responses_events);
}

/// Returns the events of a stream of the responses API with these chunks.
#[cfg(feature = "openai")]
pub fn responses_events(
    pieces: impl IntoIterator<Item = Vec<u8>>,
) -> Vec<Result<ModelStreamEvent>> {
    crate::openai::read_response_pieces(pieces)
}

/// Checks that a stream of Anthropic's messages API ends with a whole answer or an error.
#[cfg(feature = "anthropic")]
pub fn anthropic_stream(input: &[u8]) {
    check_stream(input, anthropic_events);
}

/// Returns the events of a stream of Anthropic's messages API with these chunks.
#[cfg(feature = "anthropic")]
pub fn anthropic_events(
    pieces: impl IntoIterator<Item = Vec<u8>>,
) -> Vec<Result<ModelStreamEvent>> {
    crate::anthropic::read_pieces(pieces)
}

/// Checks that a stream of Gemini ends with a whole answer or an error.
#[cfg(feature = "gemini")]
pub fn gemini_stream(input: &[u8]) {
    check_stream(input, gemini_events);
}

/// Returns the events of a stream of Gemini with these chunks.
#[cfg(feature = "gemini")]
pub fn gemini_events(pieces: impl IntoIterator<Item = Vec<u8>>) -> Vec<Result<ModelStreamEvent>> {
    crate::gemini::read_pieces(pieces)
}

/// Checks that a stream of Ollama ends with a whole answer or an error.
#[cfg(feature = "ollama")]
pub fn ollama_stream(input: &[u8]) {
    check_stream(input, ollama_events);
}

/// Returns the events of a stream of Ollama with these chunks.
#[cfg(feature = "ollama")]
pub fn ollama_events(pieces: impl IntoIterator<Item = Vec<u8>>) -> Vec<Result<ModelStreamEvent>> {
    crate::ollama::read_pieces(pieces)
}

/// The result of a stream, for comparisons.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// The whole text.
    pub text: String,
    /// The whole thinking.
    pub thinking: String,
    /// The id, name and arguments of each tool call.
    pub calls: Vec<(String, String, String)>,
    /// The token usage.
    pub usage: TokenUsage,
    /// The kind and the message of the error, if the stream failed.
    pub error: Option<(ErrorKind, String)>,
}

/// Joins the events of a stream.
///
/// # Panics
///
/// Panics if the events do not add up to the final answer, or to the partial answer of the error.
pub fn summary(events: &[Result<ModelStreamEvent>]) -> Summary {
    let mut summary = Summary::default();
    let Some((last, pieces)) = events.split_last() else {
        assert!(events.is_empty());
        return summary;
    };
    for piece in pieces {
        match piece {
            Ok(ModelStreamEvent::Text(text)) => summary.text.push_str(text),
            Ok(ModelStreamEvent::Thinking(text)) => summary.thinking.push_str(text),
            Ok(ModelStreamEvent::ToolCall(delta)) => {
                if delta.index == summary.calls.len() {
                    summary.calls.push(Default::default());
                }
                let call = summary.calls.get_mut(delta.index);
                assert!(call.is_some(), "tool call {} is out of order", delta.index);
                let Some((id, name, arguments)) = call else { continue };
                id.push_str(delta.id.as_deref().unwrap_or_default());
                name.push_str(delta.name.as_deref().unwrap_or_default());
                arguments.push_str(&delta.arguments);
            }
            Ok(ModelStreamEvent::Completed(_)) | Err(_) => {
                assert!(piece.is_err() && piece.is_ok(), "event after the end: {piece:?}");
            }
        }
    }
    match last {
        Ok(ModelStreamEvent::Completed(response)) => {
            let message = &response.message;
            assert_eq!(summary.text, message.text().unwrap_or_default());
            assert_eq!(summary.thinking, message.thinking().unwrap_or_default());
            assert_eq!(summary.calls, call_fields(message.tool_calls()));
            assert!(response.finish_reason.is_some());
            summary.usage = response.usage;
        }
        Err(error) => {
            let partial = error.detail::<PartialAnswer>();
            assert!(partial.is_some(), "{error:?}");
            if let Some(partial) = partial {
                assert_eq!(summary.text, partial.text);
                assert_eq!(summary.thinking, partial.thinking);
                assert_eq!(summary.calls, call_fields(&partial.tool_calls));
            }
            summary.usage = error.usage().copied().unwrap_or_default();
            summary.error = Some((error.kind(), error.to_string()));
        }
        piece => assert!(piece.is_err(), "the last event is not an end: {piece:?}"),
    }
    summary
}

fn call_fields(calls: &[ToolCall]) -> Vec<(String, String, String)> {
    calls
        .iter()
        .map(|call| (call.id().to_owned(), call.name().to_owned(), call.arguments().to_owned()))
        .collect()
}

fn split(body: &[u8], size: u8) -> Vec<Vec<u8>> {
    body.chunks(usize::from(size).max(1)).map(<[u8]>::to_vec).collect()
}
