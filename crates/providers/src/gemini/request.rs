//! The body of a request, put together from parts that are mostly encoded already.

use super::message;
use super::name::Generation;
use super::options::SchemaDialect;
use super::parameters::{Frame, written};
use ai_services_core::Result;
use ai_services_core::message::ChatMessage;
use ai_services_core::model::{ChatRequest, ToolSpecification};
use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// What a part's role, brackets and comma take at most.
const AROUND: usize = 32;

/// The body, in one allocation.
///
/// # Errors
///
/// A message that the protocol cannot carry.
pub(super) fn body(
    request: &ChatRequest,
    frame: &Frame,
    generation: Generation,
    dialect: SchemaDialect,
) -> Result<Vec<u8>> {
    let tools = if frame.own_tools { None } else { tools(request, dialect) };
    let messages = request.messages().map(|m| message::encoded(m, generation).len() + AROUND);
    let size = frame.head.len() + messages.sum::<usize>() + frame.tool_config.len() + 64;
    let mut body = Vec::with_capacity(size + tools.as_ref().map_or(0, |tools| tools.len()));
    body.extend_from_slice(&frame.head);
    if !frame.own_contents {
        body.push(if body.is_empty() { b'{' } else { b',' });
        body.extend_from_slice(br#""contents":"#);
        message::write(request.messages(), generation, &mut body)?;
    }
    if !frame.own_system {
        write_system(request, generation, &mut body)?;
    }
    if let Some(tools) = &tools {
        body.extend_from_slice(br#","tools":[{"functionDeclarations":"#);
        body.extend_from_slice(tools);
        body.extend_from_slice(b"}]");
    }
    if tools.is_some() || frame.own_tools {
        body.extend_from_slice(&frame.tool_config);
    }
    body.push(b'}');
    Ok(body)
}

fn write_system(request: &ChatRequest, generation: Generation, body: &mut Vec<u8>) -> Result<()> {
    for (index, message) in request.messages().filter(|m| ChatMessage::is_system(m)).enumerate() {
        let before: &[u8] = if index == 0 { br#","systemInstruction":{"parts":["# } else { b"," };
        body.extend_from_slice(before);
        body.extend_from_slice(&message::checked(message, generation)?);
    }
    if request.messages().any(ChatMessage::is_system) {
        body.extend_from_slice(b"]}");
    }
    Ok(())
}

fn tools(request: &ChatRequest, dialect: SchemaDialect) -> Option<Cow<'_, [u8]>> {
    let name = match dialect {
        SchemaDialect::OpenApi => "gemini",
        SchemaDialect::JsonSchema => "gemini-json-schema",
    };
    request.tools().encoded(name, |tools| {
        let list: Value = tools.iter().map(|tool| declaration(tool, dialect)).collect();
        list.to_string().into_bytes()
    })
}

fn declaration(tool: &ToolSpecification, dialect: SchemaDialect) -> Value {
    let mut declaration = Map::new();
    declaration.insert("name".to_owned(), json!(tool.name));
    declaration.insert("description".to_owned(), json!(tool.description));
    // Neither dialect has a form for an object without members.
    let has_members = |schema: &&Value| {
        schema.get("properties").and_then(Value::as_object).is_none_or(|all| !all.is_empty())
    };
    let schema = tool.parameters.as_ref().map(|schema| schema.as_value()).filter(has_members);
    if let Some(schema) = schema {
        let (dialect, schema) = written(schema, dialect);
        let name = match dialect {
            SchemaDialect::OpenApi => "parameters",
            SchemaDialect::JsonSchema => "parametersJsonSchema",
        };
        declaration.insert(name.to_owned(), schema);
    }
    Value::Object(declaration)
}
