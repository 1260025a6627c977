//! Tools that do not ask the client.

use crate::call;
use crate::media::{PDF, WAV, image};
use ai_services::message::{AudioContent, ImageContent, PdfContent};
use ai_services::model::ToolSpecification;
use ai_services::tool::{Tool, ToolError, ToolInput, ToolOutput, ToolProgress};
use ai_services::{InvocationContext, tools};
use serde_json::{Value, json};
use std::time::Duration;

/// Tools with all kinds of contents.
pub(crate) struct Contents;

#[tools]
impl Contents {
    /// Returns a text.
    #[tool(read_only)]
    async fn test_simple_text(&self) -> &'static str {
        "This is a simple text response for testing."
    }

    /// Returns an image.
    #[tool(read_only)]
    async fn test_image_content(&self) -> ImageContent {
        image()
    }

    /// Returns a recording.
    #[tool(read_only)]
    async fn test_audio_content(&self) -> AudioContent {
        AudioContent::base64(WAV, "audio/wav")
    }

    /// Returns a document.
    #[tool(read_only)]
    async fn test_embedded_resource(&self) -> PdfContent {
        PdfContent::base64(PDF, "application/pdf")
    }

    /// Returns a text, an image and a document.
    #[tool(read_only)]
    async fn test_multiple_content_types(&self) -> ToolOutput {
        let text = "Multiple content types test:".into();
        ToolOutput::contents([
            text,
            image().into(),
            PdfContent::base64(PDF, "application/pdf").into(),
        ])
    }

    /// Fails.
    #[tool(read_only)]
    async fn test_error_handling(&self) -> Result<String, String> {
        Err("This tool intentionally returns an error for testing".to_owned())
    }
}

/// Tools that send progress and log messages.
pub(crate) struct Signals;

#[tools]
impl Signals {
    /// Reports progress.
    #[tool(read_only)]
    async fn test_tool_with_progress(&self, #[context] input: &ToolInput) -> &'static str {
        for completed in [0.0, 50.0, 100.0] {
            input.report(ToolProgress::new(completed).with_total(100.0));
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        "The work is done."
    }

    /// Writes log messages.
    #[tool(read_only)]
    async fn test_tool_with_logging(
        &self,
        #[context] context: &InvocationContext,
    ) -> Result<&'static str, ToolError> {
        for text in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
            let params = json!({ "level": "info", "data": text });
            call(context)?.raw_notification("notifications/message", params).await?;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok("The work is logged.")
    }

    /// Writes log messages, if the client asks for them.
    #[tool(read_only)]
    async fn test_logging_tool(
        &self,
        #[context] context: &InvocationContext,
    ) -> Result<&'static str, ToolError> {
        self.test_tool_with_logging(context).await
    }
}

/// Returns a tool with an argument that clients repeat in a header.
pub(crate) fn header() -> ai_services::Result<Tool> {
    let region = json!({ "type": "string", "x-mcp-header": "Region" });
    let schema = json!({ "type": "object", "properties": { "region": region } });
    tool_with_schema("test_header_tool", schema)
}

/// Returns a tool whose schema uses keywords that Rust types do not produce.
pub(crate) fn json_schema() -> ai_services::Result<Tool> {
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": { "street": { "type": "string" }, "city": { "type": "string" } },
            },
        },
        "properties": {
            "name": { "type": "string" },
            "address": { "$ref": "#/$defs/address" },
            "contactMethod": { "type": "string", "enum": ["phone", "email"] },
            "phone": { "type": "string" },
            "email": { "type": "string" },
        },
        "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
        "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
        "then": { "required": ["phone"] },
        "else": { "required": ["email"] },
        "additionalProperties": false,
    });
    tool_with_schema("json_schema_2020_12_tool", schema)
}

fn tool_with_schema(name: &str, schema: Value) -> ai_services::Result<Tool> {
    let schema = schema.try_into().map_err(|error| {
        ai_services::Error::configuration(format!("the schema is invalid: {error}"))
    })?;
    let specification = ToolSpecification::new(name, "Has a schema that no Rust type has.");
    Ok(Tool::from_fn(specification.with_parameters(schema), |_input| async {
        Ok(ToolOutput::text("called"))
    }))
}
