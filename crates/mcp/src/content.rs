//! Results of tools as messages for a model.

use crate::clean::clean_text;
use ai_services_core::message::{Attributes, Content};
use ai_services_core::tool::{ToolError, ToolOutput};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::{Annotations, CallToolResult, ContentBlock, Resource, ResourceContents, Role};
use serde_json::Value;

/// The attribute of a tool result with the structured content that the server returned.
pub const STRUCTURED_CONTENT: &str = "structuredContent";

/// The attribute of a tool result with the content blocks that the server returned for the user only.
pub const USER_CONTENT: &str = "userContent";

/// Returns the output of a tool. A result that the server marked as an error is an error for the model.
pub(crate) fn tool_output(result: CallToolResult) -> Result<ToolOutput, ToolError> {
    let CallToolResult { content, structured_content, is_error, .. } = result;
    let (user, model): (Vec<_>, Vec<_>) = content.into_iter().partition(is_for_user_only);
    let mut contents: Vec<Content> = model.into_iter().map(to_content).collect();
    if let Some(structured) = &structured_content {
        // Servers repeat the structured content as text, for clients that do not know it.
        let is_same = |content: &Content| {
            content.text().is_some_and(|text| {
                serde_json::from_str::<Value>(text).is_ok_and(|value| value == *structured)
            })
        };
        if !contents.iter().any(is_same) {
            contents.push(structured.to_string().into());
        }
    }
    if is_error == Some(true) {
        return Err(ToolError::new(error_text(&contents)));
    }
    let mut attributes = Attributes::new();
    if let Some(structured) = structured_content {
        attributes.insert(STRUCTURED_CONTENT.to_owned(), structured);
    }
    if let (false, Ok(user)) = (user.is_empty(), serde_json::to_value(&user)) {
        attributes.insert(USER_CONTENT.to_owned(), user);
    }
    Ok(ToolOutput::contents(contents).with_attributes(attributes))
}

/// Returns the contents of a resource for a model.
pub(crate) fn resource_content(resource: ResourceContents) -> Content {
    match resource {
        ResourceContents::TextResourceContents { text, .. } => text.into(),
        ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
            media(&blob, mime_type.as_deref(), &format!("resource {uri}"))
        }
        _ => "[a resource of an unknown kind]".into(),
    }
}

/// Returns a content block for a model.
pub(crate) fn to_content(block: ContentBlock) -> Content {
    match block {
        ContentBlock::Text(text) => text.text.into(),
        ContentBlock::Image(image) => media(&image.data, Some(&image.mime_type), "image"),
        ContentBlock::Audio(audio) => media(&audio.data, Some(&audio.mime_type), "audio"),
        ContentBlock::Resource(embedded) => resource_content(embedded.resource),
        ContentBlock::ResourceLink(link) => resource_line(&link).into(),
        _ => "[content of an unknown kind]".into(),
    }
}

/// Returns one line about a resource that is not fetched.
pub(crate) fn resource_line(resource: &Resource) -> String {
    let mut line = format!("Resource: {}", clean_text(&resource.name, 200));
    if let Some(description) = &resource.description {
        line = format!("{line} - {}", clean_text(description, 500).replace('\n', " "));
    }
    let media_type = resource.mime_type.clone();
    let size = resource.size.map(|size| format!("{size} bytes"));
    let details: Vec<String> = media_type.into_iter().chain(size).collect();
    if !details.is_empty() {
        line = format!("{line} ({})", clean_text(&details.join(", "), 200));
    }
    format!("{line}: {}", clean_text(&resource.uri, 2_000))
}

/// Returns media, or a note if they cannot be read: invalid media would make the provider reject the request.
fn media(base64: &str, media_type: Option<&str>, name: &str) -> Content {
    let bytes = STANDARD.decode(base64).ok();
    let size = bytes.as_ref().map_or(0, Vec::len);
    let content = bytes.and_then(|bytes| Content::of_declared_type(&bytes, media_type).ok());
    content.unwrap_or_else(|| {
        let media_type = media_type.unwrap_or("unknown type");
        clean_text(&format!("[{name}, {media_type}, {size} bytes: cannot be shown]"), 300).into()
    })
}

fn error_text(contents: &[Content]) -> String {
    let texts: Vec<&str> = contents.iter().filter_map(Content::text).collect();
    if texts.is_empty() { "the tool failed without a message".to_owned() } else { texts.join("\n") }
}

fn is_for_user_only(block: &ContentBlock) -> bool {
    let annotations: Option<&Annotations> = match block {
        ContentBlock::Text(text) => text.annotations.as_ref(),
        ContentBlock::Image(image) => image.annotations.as_ref(),
        ContentBlock::Audio(audio) => audio.annotations.as_ref(),
        ContentBlock::Resource(embedded) => embedded.annotations.as_ref(),
        ContentBlock::ResourceLink(link) => link.annotations.as_ref(),
        _ => None,
    };
    let audience = annotations.and_then(|annotations| annotations.audience.as_deref());
    audience.is_some_and(|audience| !audience.is_empty() && !audience.contains(&Role::Assistant))
}
