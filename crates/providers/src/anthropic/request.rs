//! The body of a request, put together from parts that are mostly encoded already.

use super::message::{DIALECT, encoded, role};
use super::options::{Options, PromptCaching};
use super::parameters::Frame;
use crate::protocol::groups::Grouping;
use ai_services_core::message::ChatMessage;
use ai_services_core::model::{ChatRequest, ToolSpecification};
use ai_services_core::schema::Ordered;
use ai_services_core::{Error, ErrorKind, Result};
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

/// The body of a request.
///
/// # Errors
///
/// A message that the protocol cannot carry, and a conversation that does not begin with the user.
pub(super) fn body(request: &ChatRequest, frame: &Frame, options: &Options) -> Result<Vec<u8>> {
    let tools = match frame.own_tools {
        true => None,
        false => request.tools().encoded(DIALECT, list),
    };
    let mut body =
        Vec::with_capacity(size(request, frame)? + tools.as_ref().map_or(0, |tools| tools.len()));
    body.extend_from_slice(&frame.head);
    if let Some(tools) = &tools {
        body.extend_from_slice(br#","tools":"#);
        body.extend_from_slice(tools);
        mark(&mut body, b"}]", options.caching);
    }
    if tools.is_some() || frame.own_tools {
        body.extend_from_slice(&frame.tool_choice);
    }
    if !frame.own_system {
        write_system(request, frame, options.caching, &mut body)?;
    }
    if !frame.own_messages {
        write_messages(request, options.caching, &mut body)?;
    }
    body.push(b'}');
    Ok(body)
}

/// About how long a body is without its tools. Encodes messages that are new.
fn size(request: &ChatRequest, frame: &Frame) -> Result<usize> {
    /// Names and brackets, and marks of what is to be kept.
    const REST: usize = 256;
    /// `{"role":"assistant","content":[]},`.
    const MESSAGE: usize = 34;
    let own = frame.head.len() + frame.instruction.len() + frame.tool_choice.len() + REST;
    let mut messages = request.messages();
    messages.try_fold(own, |size, message| Ok(size + encoded(message)?.len() + MESSAGE))
}

/// All system messages, wherever they stand, and what is said of the form of the answer.
fn write_system(
    request: &ChatRequest,
    frame: &Frame,
    caching: PromptCaching,
    body: &mut Vec<u8>,
) -> Result<()> {
    const BEGIN: &[u8] = br#","system":["#;
    let start = body.len();
    for message in request.messages().filter(|message| message.is_system()) {
        let block = encoded(message)?;
        if !block.is_empty() {
            body.extend_from_slice(if body.len() == start { BEGIN } else { b"," });
            body.extend_from_slice(&block);
        }
    }
    if !frame.instruction.is_empty() {
        body.extend_from_slice(if body.len() == start { BEGIN } else { b"," });
        body.extend_from_slice(&frame.instruction);
    }
    if body.len() > start {
        body.push(b']');
        mark(body, b"}]", caching);
    }
    Ok(())
}

fn write_messages(request: &ChatRequest, caching: PromptCaching, body: &mut Vec<u8>) -> Result<()> {
    body.extend_from_slice(br#","messages":"#);
    let start = body.len();
    let grouping = Grouping { parts: "content", encode: &encoded, role };
    grouping.write(request.messages(), body)?;
    let begins_with_user = br#"[{"role":"user""#;
    if !body.get(start..).is_some_and(|messages| messages.starts_with(begins_with_user)) {
        return Err(Error::new(
            ErrorKind::Unsupported,
            "a conversation with this provider must begin with a message of the user",
        ));
    }
    // The model's own words may end with thoughts, which cannot be marked.
    let last = request.messages().rev().find_map(|message| Some((message, role(message)?)));
    if matches!(last, Some((ChatMessage::User(_) | ChatMessage::ToolResult(_), _)))
        && matches!(caching, PromptCaching::Conversation(_))
    {
        mark(body, b"}]}]", caching);
    }
    Ok(())
}

/// Marks the last block of what was written, which ends with `end`, as the end of what is to be kept.
fn mark(body: &mut Vec<u8>, end: &[u8], caching: PromptCaching) {
    if let (Some(mark), true) = (caching.mark(), body.ends_with(end)) {
        body.truncate(body.len() - end.len());
        body.extend_from_slice(mark);
        body.extend_from_slice(end);
    }
}

fn list(tools: &[ToolSpecification]) -> Vec<u8> {
    let nothing = json!({ "type": "object", "properties": {} });
    let list: Vec<_> = tools
        .iter()
        .map(|tool| Tool {
            name: &tool.name,
            description: Some(&*tool.description).filter(|description| !description.is_empty()),
            input_schema: tool.parameters.as_ref().map_or(&nothing, |schema| schema.as_value()),
        })
        .collect();
    // Texts and JSON values can always be written.
    serde_json::to_vec(&list).unwrap_or_else(|_| b"[]".to_vec())
}

#[derive(Serialize)]
struct Tool<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    #[serde(serialize_with = "in_order")]
    input_schema: &'a Value,
}

fn in_order<S: Serializer>(schema: &&Value, serializer: S) -> std::result::Result<S::Ok, S::Error> {
    Ordered(schema).serialize(serializer)
}
