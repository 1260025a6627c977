//! The body of a request.

use super::message;
use super::options::SchemaDialect;
use super::parameters::{ContentsPrefix, in_dialect};
use ai_services_core::Result;
use ai_services_core::model::{ChatRequest, ToolSpecification};
use serde_json::{Map, Value, json};

/// Maximum length of the role, brackets and comma around the parts of a message.
const AROUND: usize = 32;

/// Returns the body of a request, in one allocation.
///
/// # Errors
///
/// [`ErrorKind::Unsupported`](ai_services_core::ErrorKind::Unsupported) for a message that the API cannot
/// carry.
pub(super) fn body(
    request: &ChatRequest,
    prefix: &ContentsPrefix,
    dialect: SchemaDialect,
) -> Result<Vec<u8>> {
    let generation = prefix.generation;
    let tools = if prefix.has_tools { None } else { tools(request, dialect) };
    let messages = request.messages().map(|m| message::encoded(m, generation).len() + AROUND);
    let size = prefix.head.len() + messages.sum::<usize>() + prefix.tool_config.len() + 64;
    let mut body = Vec::with_capacity(size + tools.map_or(0, <[u8]>::len));
    body.extend_from_slice(&prefix.head);
    if !prefix.has_contents {
        body.push(if body.is_empty() { b'{' } else { b',' });
        body.extend_from_slice(br#""contents":"#);
        message::write(request.messages(), generation, &mut body)?;
    }
    if !prefix.has_system {
        write_system(request, prefix, &mut body)?;
    }
    if let Some(tools) = tools {
        body.extend_from_slice(br#","tools":[{"functionDeclarations":"#);
        body.extend_from_slice(tools);
        body.extend_from_slice(b"}]");
    }
    if tools.is_some() || prefix.has_tools {
        body.extend_from_slice(&prefix.tool_config);
    }
    body.push(b'}');
    Ok(body)
}

fn write_system(request: &ChatRequest, prefix: &ContentsPrefix, body: &mut Vec<u8>) -> Result<()> {
    const BEGIN: &[u8] = br#","systemInstruction":{"parts":["#;
    let start = body.len();
    for message in request.messages().filter(|message| message.is_system()) {
        body.extend_from_slice(if body.len() == start { BEGIN } else { b"," });
        message::checked(message, prefix.generation)?.write(body);
    }
    if body.len() > start {
        body.extend_from_slice(b"]}");
    }
    Ok(())
}

fn tools(request: &ChatRequest, dialect: SchemaDialect) -> Option<&[u8]> {
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
    // Neither dialect can express an object without members.
    let has_members = |schema: &&Value| {
        schema.get("properties").and_then(Value::as_object).is_none_or(|all| !all.is_empty())
    };
    let schema = tool.parameters.as_ref().map(|schema| schema.as_value()).filter(has_members);
    if let Some(schema) = schema {
        let (dialect, schema) = in_dialect(schema, dialect);
        let name = match dialect {
            SchemaDialect::OpenApi => "parameters",
            SchemaDialect::JsonSchema => "parametersJsonSchema",
        };
        declaration.insert(name.to_owned(), schema);
    }
    Value::Object(declaration)
}
