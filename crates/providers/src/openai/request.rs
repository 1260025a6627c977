//! The body of a request.

use super::message::{self, MessageForm};
use super::options::{Options, ProviderExtensions, SchemaMode};
use super::tool_media::ToolMedia;
use super::tools::{ToolForm, list};
use crate::protocol::encoded::Encoded;
use crate::protocol::request_body::ListPrefix;
use ai_services_core::Result;
use ai_services_core::message::ChatMessage;
use ai_services_core::model::ChatRequest;

/// Returns the body of a request, in one allocation.
///
/// # Errors
///
/// [`ErrorKind::Unsupported`](ai_services_core::ErrorKind::Unsupported) for a message that the protocol
/// cannot carry.
pub(super) fn body(
    request: &ChatRequest,
    prefix: &ListPrefix,
    options: &Options,
) -> Result<Vec<u8>> {
    let len = if prefix.has_messages { 0 } else { messages_len(request, options)? };
    let tools = if prefix.has_tools { None } else { tools(request, options.tools) };
    Ok(prefix.body(len, tools, |body| write_messages(request, options, body)))
}

/// Returns the maximum length of the messages, commas included. Encodes messages that are new.
fn messages_len(request: &ChatRequest, options: &Options) -> Result<usize> {
    encoded(request, options).try_fold(0, |len, (message, encoded)| match encoded.len() {
        0 => Err(message::unsupported(message)),
        own => Ok(len + own + 1 + ToolMedia::len(message, encoded)),
    })
}

/// Writes the messages, and the media of tool results behind the last result of a round.
fn write_messages(request: &ChatRequest, options: &Options, body: &mut Vec<u8>) {
    let mut media = ToolMedia::default();
    for (index, (message, encoded)) in encoded(request, options).enumerate() {
        media.end_before(message, body);
        if index > 0 {
            body.push(b',');
        }
        media.write(message, encoded, body);
    }
    media.end(body);
}

fn encoded<'a>(
    request: &'a ChatRequest,
    options: &Options,
) -> impl Iterator<Item = (&'a ChatMessage, Encoded<'a>)> + use<'a> {
    let plain = options.thinking.messages_without(request);
    let extensions = options.provider_extensions == ProviderExtensions::Send;
    request.messages().enumerate().map(move |(index, message)| {
        let form = MessageForm { thinking: index >= plain, extensions };
        (message, message::encoded(message, form))
    })
}

fn tools(request: &ChatRequest, mode: SchemaMode) -> Option<&[u8]> {
    let dialect = match mode {
        SchemaMode::Loose => "openai-chat",
        SchemaMode::Strict => "openai-chat-strict",
    };
    request.tools().encoded(dialect, |tools| list(tools, mode, ToolForm::ChatCompletions))
}
