//! Resources.

use crate::media::image;
use ai_services::mcp::{McpResource, McpServerBuilder};
use ai_services::message::{Content, ImageContent};
use ai_services::tools;
use serde_json::json;

/// Reads resources.
struct Resources;

#[tools]
impl Resources {
    /// A text.
    #[tool(read_only)]
    async fn static_text(&self) -> &'static str {
        "This is the content of the static text resource."
    }

    /// An image.
    #[tool(read_only)]
    async fn static_binary(&self) -> ImageContent {
        image()
    }

    /// Data with an id.
    #[tool(read_only)]
    async fn template_data(&self, id: String) -> Content {
        let data = format!("Data for ID: {id}");
        json!({ "id": id, "templateTest": true, "data": data }).to_string().into()
    }
}

/// Adds the resources.
pub(crate) fn add(mut builder: McpServerBuilder) -> ai_services::Result<McpServerBuilder> {
    let uris = ["test://static-text", "test://static-binary", "test://template/{id}/data"];
    let types = ["text/plain", "image/png", "application/json"];
    let tools = ai_services::tool::ToolSet::tools(std::sync::Arc::new(Resources));
    for ((uri, media_type), tool) in uris.into_iter().zip(types).zip(tools) {
        builder = builder.resource(McpResource::new(uri, tool).media_type(media_type));
    }
    Ok(builder)
}
