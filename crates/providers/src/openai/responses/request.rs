//! The body of a request.

use super::item::{self, ItemForm};
use super::loaded_tools::LoadedTools;
use super::options::{Options, ResponseStorage};
use crate::openai::options::SchemaMode;
use crate::openai::tools::{ToolForm, list};
use crate::protocol::encoded::Encoded;
use crate::protocol::request_body::{ListPrefix, list_len, write_list};
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
    let tools = if prefix.has_tools { None } else { tools(request, options.tools) };
    if tools.is_some() && request.tools().has_deferred() {
        let loaded = LoadedTools::new(request, options.tools);
        return join(prefix, tools, || with_loaded(encoded(request, options.storage), &loaded));
    }
    join(prefix, tools, || encoded(request, options.storage))
}

fn join<'a, I: Iterator<Item = (&'a ChatMessage, Encoded<'a>)>>(
    prefix: &ListPrefix,
    tools: Option<&[u8]>,
    items: impl Fn() -> I,
) -> Result<Vec<u8>> {
    let len = if prefix.has_messages { 0 } else { list_len(items(), item::unsupported)? };
    Ok(prefix.body(len, tools, |body| write_list(items(), body)))
}

/// Adds the definitions of tools that searches have found.
fn with_loaded<'a>(
    items: impl Iterator<Item = (&'a ChatMessage, Encoded<'a>)>,
    loaded: &'a LoadedTools,
) -> impl Iterator<Item = (&'a ChatMessage, Encoded<'a>)> {
    items.enumerate().flat_map(|(position, (message, own))| {
        let loaded = loaded.after(position).map(|items| (message, Encoded::Kept(items)));
        [(message, own)].into_iter().chain(loaded)
    })
}

/// Returns the messages, each as one or more items with commas in between.
fn encoded(
    request: &ChatRequest,
    storage: ResponseStorage,
) -> impl Iterator<Item = (&ChatMessage, Encoded<'_>)> {
    let preferred = match storage {
        ResponseStorage::NotStored => ItemForm::Complete,
        ResponseStorage::Stored => ItemForm::Stored,
    };
    request.messages().map(move |message| (message, item::encoded(message, preferred)))
}

fn tools(request: &ChatRequest, mode: SchemaMode) -> Option<&[u8]> {
    let dialect = match mode {
        SchemaMode::Loose => "openai-responses",
        SchemaMode::Strict => "openai-responses-strict",
    };
    request.tools().encoded(dialect, |tools| list(tools, mode, ToolForm::Responses))
}
