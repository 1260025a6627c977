//! The body of a request.

use super::message::{DIALECT, encoded, encoded_with, role};
use super::options::PromptCaching;
use super::parameters::MessagesPrefix;
use crate::protocol::encoded::Encoded;
use crate::protocol::merge_roles::RoleMerger;
use crate::protocol::tools::{encode, parameters};
use ai_services_core::message::ChatMessage;
use ai_services_core::model::{ChatRequest, ToolLoading, ToolSpecification, ToolSpecifications};
use ai_services_core::schema::Ordered;
use ai_services_core::{Error, ErrorKind, Result};
use serde::Serialize;

/// Returns the body of a request, in one allocation.
///
/// # Errors
///
/// [`ErrorKind::Unsupported`] for a message that the API cannot carry, and for a conversation that does
/// not begin with the user.
pub(super) fn body(
    request: &ChatRequest,
    prefix: &MessagesPrefix,
    caching: PromptCaching,
) -> Result<Vec<u8>> {
    let tools = if prefix.has_tools { None } else { request.tools().encoded(DIALECT, list) };
    let mut body = Vec::with_capacity(size(request, prefix)? + tools.map_or(0, <[u8]>::len));
    body.extend_from_slice(&prefix.head);
    if let Some(tools) = tools {
        body.extend_from_slice(br#","tools":"#);
        body.extend_from_slice(tools);
        mark(&mut body, b"}]", caching);
    }
    if tools.is_some() || prefix.has_tools {
        body.extend_from_slice(&prefix.tool_choice);
    }
    if !prefix.has_system {
        write_system(request, prefix, caching, &mut body)?;
    }
    if !prefix.has_messages {
        write_messages(request, prefix, caching, &mut body)?;
    }
    body.push(b'}');
    Ok(body)
}

/// Returns the approximate length of a body without its tools. Encodes messages that are new.
fn size(request: &ChatRequest, prefix: &MessagesPrefix) -> Result<usize> {
    /// Names, brackets and cache marks.
    const REST: usize = 256;
    /// `{"role":"assistant","content":[]},`.
    const MESSAGE: usize = 34;
    let own = prefix.head.len() + prefix.instruction.len() + prefix.tool_choice.len() + REST;
    let (mut messages, tools) = (request.messages(), deferring(request, prefix));
    messages.try_fold(own, |size, message| Ok(size + encoded_in(message, tools)?.len() + MESSAGE))
}

/// Writes all system messages, and the instruction about the form of the answer.
fn write_system(
    request: &ChatRequest,
    prefix: &MessagesPrefix,
    caching: PromptCaching,
    body: &mut Vec<u8>,
) -> Result<()> {
    const BEGIN: &[u8] = br#","system":["#;
    let start = body.len();
    let mut write = |block: Encoded<'_>| {
        if !block.is_empty() {
            body.extend_from_slice(if body.len() == start { BEGIN } else { b"," });
            block.write(body);
        }
    };
    for message in request.messages().filter(|message| message.is_system()) {
        write(encoded(message)?);
    }
    write(Encoded::Kept(&prefix.instruction));
    if body.len() > start {
        body.push(b']');
        mark(body, b"}]", caching);
    }
    Ok(())
}

/// Returns the tools of a request if some of them are deferred.
fn deferring<'r>(
    request: &'r ChatRequest,
    prefix: &MessagesPrefix,
) -> Option<&'r ToolSpecifications> {
    Some(request.tools()).filter(|tools| tools.has_deferred() && !prefix.has_tools)
}

/// Returns the encoded blocks of a message of a request with these deferred tools.
fn encoded_in<'m>(
    message: &'m ChatMessage,
    deferring: Option<&ToolSpecifications>,
) -> Result<Encoded<'m>> {
    deferring.map_or_else(|| encoded(message), |tools| encoded_with(message, tools))
}

fn write_messages(
    request: &ChatRequest,
    prefix: &MessagesPrefix,
    caching: PromptCaching,
    body: &mut Vec<u8>,
) -> Result<()> {
    body.extend_from_slice(br#","messages":"#);
    let start = body.len();
    let tools = deferring(request, prefix);
    let merger =
        RoleMerger { parts: "content", encode: &|message| encoded_in(message, tools), role };
    merger.write(request.messages(), body)?;
    let begins_with_user = br#"[{"role":"user""#;
    if !body.get(start..).is_some_and(|messages| messages.starts_with(begins_with_user)) {
        return Err(Error::new(
            ErrorKind::Unsupported,
            "a conversation with this provider must begin with a message of the user",
        ));
    }
    // Blocks of the model may end with thinking, which cannot be marked.
    let last = request.messages().rev().find_map(|message| Some((message, role(message)?)));
    if matches!(last, Some((ChatMessage::User(_) | ChatMessage::ToolResult(_), _)))
        && matches!(caching, PromptCaching::Conversation(_))
    {
        mark(body, b"}]}]", caching);
    }
    Ok(())
}

/// Marks the last block of the body, which ends with `end`, as the end of a cached prefix.
fn mark(body: &mut Vec<u8>, end: &[u8], caching: PromptCaching) {
    if let (Some(mark), true) = (caching.mark(), body.ends_with(end)) {
        body.truncate(body.len() - end.len());
        body.extend_from_slice(mark);
        body.extend_from_slice(end);
    }
}

fn list(tools: &[ToolSpecification]) -> Vec<u8> {
    let schemas: Vec<_> = tools.iter().map(parameters).collect();
    let list = tools.iter().zip(&schemas).map(|(tool, schema)| Tool {
        name: &tool.name,
        description: Some(&*tool.description).filter(|description| !description.is_empty()),
        input_schema: Ordered(schema),
        defer_loading: tool.loading == ToolLoading::Deferred,
    });
    let mut list: Vec<_> = list.collect();
    // The mark of the cached prefix is in the last tool, and the API rejects it in a deferred one.
    list.sort_by_key(|tool| !tool.defer_loading);
    encode(&list)
}

#[derive(Serialize)]
struct Tool<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    input_schema: Ordered<'a>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    defer_loading: bool,
}
