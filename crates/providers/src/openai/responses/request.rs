//! The body of a request.

use super::item::{self, ItemForm};
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
    let items = || encoded(request, options.storage);
    let len = if prefix.has_messages { 0 } else { list_len(items(), item::unsupported)? };
    let tools = if prefix.has_tools { None } else { tools(request, options.tools) };
    Ok(prefix.body(len, tools, |body| write_list(items(), body)))
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
