//! What the fuzz targets call, and the tests that replay their corpus: each function takes any bytes
//! and panics if they break a promise.

use crate::http::{Framing, in_memory};
use ai_services_core::message::ToolCall;
use ai_services_core::model::{ModelStreamEvent, PartialAnswer, TokenUsage};
use ai_services_core::{ErrorKind, Result};

/// Server-sent events: how the bytes are split does not matter.
///
/// The first byte says how they are split.
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

/// A streamed answer: how the bytes are split does not matter, the pieces are what the answer consists
/// of, and whatever is not a whole answer is an error.
///
/// The first byte says how the bytes are split.
fn same_however_split(input: &[u8], read: impl Fn(Vec<Vec<u8>>) -> Vec<Result<ModelStreamEvent>>) {
    let Some((size, body)) = input.split_first() else { return };
    let whole = summary(&read(vec![body.to_vec()]));
    let pieces = summary(&read(split(body, *size)));
    assert_eq!(whole, pieces, "split into {size}");
}

/// A streamed answer of a chat completion: however it is split, it is whole or an error.
#[cfg(feature = "openai")]
pub fn chat_stream(input: &[u8]) {
    same_however_split(input, chat_events);
}

/// The events of a streamed answer of a chat completion whose body consists of these pieces.
#[cfg(feature = "openai")]
pub fn chat_events(pieces: impl IntoIterator<Item = Vec<u8>>) -> Vec<Result<ModelStreamEvent>> {
    crate::openai::read_chat_pieces(pieces)
}

/// A streamed answer of the responses API: however it is split, it is whole or an error.
#[cfg(feature = "openai")]
pub fn responses_stream(input: &[u8]) {
    same_however_split(input, responses_events);
}

/// The events of a streamed answer of the responses API whose body consists of these pieces.
#[cfg(feature = "openai")]
pub fn responses_events(
    pieces: impl IntoIterator<Item = Vec<u8>>,
) -> Vec<Result<ModelStreamEvent>> {
    crate::openai::read_response_pieces(pieces)
}

/// A streamed answer of Anthropic's messages: however it is split, it is whole or an error.
#[cfg(feature = "anthropic")]
pub fn anthropic_stream(input: &[u8]) {
    same_however_split(input, anthropic_events);
}

/// The events of a streamed answer of Anthropic's messages whose body consists of these pieces.
#[cfg(feature = "anthropic")]
pub fn anthropic_events(
    pieces: impl IntoIterator<Item = Vec<u8>>,
) -> Vec<Result<ModelStreamEvent>> {
    crate::anthropic::read_pieces(pieces)
}

/// A streamed answer of Gemini: however it is split, it is whole or an error.
#[cfg(feature = "gemini")]
pub fn gemini_stream(input: &[u8]) {
    same_however_split(input, gemini_events);
}

/// The events of a streamed answer of Gemini whose body consists of these pieces.
#[cfg(feature = "gemini")]
pub fn gemini_events(pieces: impl IntoIterator<Item = Vec<u8>>) -> Vec<Result<ModelStreamEvent>> {
    crate::gemini::read_pieces(pieces)
}

/// A streamed answer of Ollama: however it is split, it is whole or an error.
#[cfg(feature = "ollama")]
pub fn ollama_stream(input: &[u8]) {
    same_however_split(input, ollama_events);
}

/// The events of a streamed answer of Ollama whose body consists of these pieces.
#[cfg(feature = "ollama")]
pub fn ollama_events(pieces: impl IntoIterator<Item = Vec<u8>>) -> Vec<Result<ModelStreamEvent>> {
    crate::ollama::read_pieces(pieces)
}

/// What a stream said, in a form that can be compared.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// All text.
    pub text: String,
    /// All thinking.
    pub thinking: String,
    /// Each tool call, put together.
    pub calls: Vec<(String, String, String)>,
    /// The tokens it cost.
    pub usage: TokenUsage,
    /// Why it failed, if it did.
    pub error: Option<(ErrorKind, String)>,
}

/// Puts the pieces of a stream together.
///
/// # Panics
///
/// If they are not what the answer carries at the end, or what the error says had come.
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
                assert!(call.is_some(), "call {} comes out of order", delta.index);
                let Some((id, name, arguments)) = call else { continue };
                id.push_str(delta.id.as_deref().unwrap_or_default());
                name.push_str(delta.name.as_deref().unwrap_or_default());
                arguments.push_str(&delta.arguments);
            }
            Ok(ModelStreamEvent::Completed(_)) | Err(_) => {
                assert!(piece.is_err() && piece.is_ok(), "something follows the end: {piece:?}");
            }
        }
    }
    match last {
        Ok(ModelStreamEvent::Completed(response)) => {
            let message = &response.message;
            assert_eq!(summary.text, message.text().unwrap_or_default());
            assert_eq!(summary.thinking, message.thinking().unwrap_or_default());
            assert_eq!(summary.calls, parts(message.tool_calls()));
            assert!(response.finish_reason.is_some());
            summary.usage = response.usage;
        }
        Err(error) => {
            let partial = error.detail::<PartialAnswer>();
            assert!(partial.is_some(), "{error:?}");
            if let Some(partial) = partial {
                assert_eq!(summary.text, partial.text);
                assert_eq!(summary.thinking, partial.thinking);
                assert_eq!(summary.calls, parts(&partial.tool_calls));
            }
            summary.usage = error.usage().copied().unwrap_or_default();
            summary.error = Some((error.kind(), error.to_string()));
        }
        piece => assert!(piece.is_err(), "the last item is no end: {piece:?}"),
    }
    summary
}

fn parts(calls: &[ToolCall]) -> Vec<(String, String, String)> {
    calls
        .iter()
        .map(|call| (call.id().to_owned(), call.name().to_owned(), call.arguments().to_owned()))
        .collect()
}

fn split(body: &[u8], size: u8) -> Vec<Vec<u8>> {
    body.chunks(usize::from(size).max(1)).map(<[u8]>::to_vec).collect()
}
