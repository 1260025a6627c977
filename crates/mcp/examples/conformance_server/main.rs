//! The server that the official conformance suite tests: `scripts/mcp-conformance` starts it.
//!
//! It offers the tools, resources and prompts that the scenarios of the suite call by name. The only argument is the
//! port on the loopback interface, 0 for any free port. It prints its URL.
#![allow(
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a missing member of JSON is null"
)]

use ai_services::mcp::{McpCall, McpResource, McpServer, McpServerBuilder};
use ai_services::message::{AudioContent, Content, ImageContent, PdfContent};
use ai_services::model::ToolSpecification;
use ai_services::schema::JsonSchema;
use ai_services::tool::{Tool, ToolError, ToolInput, ToolOutput, ToolProgress};
use ai_services::{InvocationContext, tools};
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::Duration;

/// A red pixel.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
/// A recording without samples.
const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=";
/// An empty document.
const PDF: &str = "JVBERi0xLjcK";

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let port: u16 = std::env::args().nth(1).ok_or("usage: conformance_server PORT")?.parse()?;
    let app = axum::Router::new().route_service("/mcp", server()?.into_http_service());
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await?;
    println!("http://{}/mcp", listener.local_addr()?);
    Ok(axum::serve(listener, app).await?)
}

fn server() -> ai_services::Result<McpServer> {
    let builder = McpServer::builder("conformance", env!("CARGO_PKG_VERSION"))
        .instructions("A server for tests.")
        .tools(Contents)
        .tools(Signals)
        .tools(Questions)
        .tools(json_schema_tool()?)
        .tools(header_tool()?)
        .prompts(Prompts);
    raw_methods(resources(builder)?).build()
}

fn image() -> ImageContent {
    ImageContent::base64(PNG, "image/png")
}

/// Tools with all kinds of contents.
struct Contents;

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
struct Signals;

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

fn call(context: &InvocationContext) -> Result<&McpCall, ToolError> {
    context.get::<McpCall>().ok_or_else(|| ToolError::new("only for MCP clients"))
}

#[derive(Deserialize, JsonSchema)]
struct Name {
    name: String,
}

#[derive(Deserialize, JsonSchema)]
struct Color {
    color: String,
}

#[derive(Deserialize, JsonSchema)]
struct Consent {
    ok: bool,
}

#[derive(Deserialize, JsonSchema)]
struct Account {
    /// User's response
    username: String,
    /// User's email address
    email: String,
}

/// Tools that ask the client.
struct Questions;

#[tools]
impl Questions {
    /// Asks for a name.
    #[tool(read_only)]
    async fn test_input_required_result_elicitation(
        &self,
        #[context] context: &InvocationContext,
    ) -> Result<String, ToolError> {
        let name = call(context)?.elicit::<Name>("user_name", "What is your name?").await?;
        Ok(name.map_or_else(|| "Hello!".to_owned(), |name| format!("Hello, {}!", name.name)))
    }

    /// Asks the model of the client.
    #[tool(read_only)]
    async fn test_input_required_result_sampling(
        &self,
        #[context] context: &InvocationContext,
    ) -> Result<String, ToolError> {
        sample(context, "capital_question", "What is the capital of France?").await
    }

    /// Asks for the roots of the client.
    #[tool(read_only)]
    async fn test_input_required_result_list_roots(
        &self,
        #[context] context: &InvocationContext,
    ) -> Result<String, ToolError> {
        let roots = call(context)?.raw_request("client_roots", "roots/list", json!({})).await?;
        Ok(format!("The roots are {}.", roots["roots"]))
    }

    /// Asks for consent.
    #[tool(read_only)]
    async fn test_input_required_result_request_state(
        &self,
        #[context] context: &InvocationContext,
    ) -> Result<String, ToolError> {
        let consent = call(context)?.elicit::<Consent>("confirm", "Please confirm").await?;
        Ok(format!("state-ok, ok={}", consent.is_some_and(|consent| consent.ok)))
    }

    /// Asks for consent, and rejects a state that the client has changed.
    #[tool(read_only)]
    async fn test_input_required_result_tampered_state(
        &self,
        #[context] context: &InvocationContext,
    ) -> Result<String, ToolError> {
        self.test_input_required_result_request_state(context).await
    }

    /// Asks three questions at once.
    #[tool(read_only)]
    async fn test_input_required_result_multiple_inputs(
        &self,
        #[context] context: &InvocationContext,
    ) -> Result<String, ToolError> {
        let call = call(context)?;
        let (name, greeting, roots) = tokio::join!(
            call.elicit::<Name>("user_name", "What is your name?"),
            sample(context, "greeting", "Generate a greeting"),
            call.raw_request("client_roots", "roots/list", json!({})),
        );
        let name = name?.map_or_else(String::new, |name| name.name);
        Ok(format!("{}, {name}! Your roots are {}.", greeting?, roots?["roots"]))
    }

    /// Asks two questions, one after the other.
    #[tool(read_only)]
    async fn test_input_required_result_multi_round(
        &self,
        #[context] context: &InvocationContext,
    ) -> Result<String, ToolError> {
        let call = call(context)?;
        let name = call.elicit::<Name>("step1", "Step 1: What is your name?").await?;
        let color = call.elicit::<Color>("step2", "Step 2: What is your favorite color?").await?;
        let name = name.map_or_else(String::new, |name| name.name);
        Ok(format!("{name} likes {}.", color.map_or_else(String::new, |color| color.color)))
    }

    /// Asks the user or the model, depending on the client.
    #[tool(read_only)]
    async fn test_input_required_result_capabilities(
        &self,
        #[context] context: &InvocationContext,
    ) -> Result<String, ToolError> {
        if call(context)?.supports_elicitation() {
            return self.test_input_required_result_elicitation(context).await;
        }
        self.test_input_required_result_sampling(context).await
    }

    /// Needs a client with a model.
    #[tool(read_only)]
    async fn test_missing_capability(
        &self,
        #[context] context: &InvocationContext,
    ) -> Result<String, ToolError> {
        self.test_input_required_result_sampling(context).await
    }

    /// Asks for a name after it has reported progress.
    #[tool(read_only)]
    async fn test_streaming_elicitation(
        &self,
        #[context] input: &ToolInput,
    ) -> Result<String, ToolError> {
        input.report(ToolProgress::new(1.0));
        self.test_input_required_result_elicitation(input.context()).await
    }

    /// Asks the model of the client.
    #[tool(read_only)]
    async fn test_sampling(
        &self,
        /// The prompt for the model.
        prompt: String,
        #[context] context: &InvocationContext,
    ) -> Result<String, ToolError> {
        Ok(format!("LLM response: {}", sample(context, "prompt", &prompt).await?))
    }

    /// Asks the user of the client.
    #[tool(read_only)]
    async fn test_elicitation(
        &self,
        /// The question.
        message: String,
        #[context] context: &InvocationContext,
    ) -> Result<String, ToolError> {
        let account = call(context)?.elicit::<Account>("account", &message).await?;
        let answer = account.map(|account| format!("{} <{}>", account.username, account.email));
        Ok(format!("User response: {answer:?}"))
    }

    /// Asks the user of the client, with default values.
    #[tool(read_only)]
    async fn test_elicitation_sep1034_defaults(
        &self,
        #[context] context: &InvocationContext,
    ) -> Result<String, ToolError> {
        let properties = json!({
            "name": { "type": "string", "default": "John Doe" },
            "age": { "type": "integer", "default": 30 },
            "score": { "type": "number", "default": 95.5 },
            "status": { "type": "string", "enum": ["active", "inactive", "pending"], "default": "active" },
            "verified": { "type": "boolean", "default": true },
        });
        raw_form(context, &properties).await
    }

    /// Asks the user of the client to choose.
    #[tool(read_only)]
    async fn test_elicitation_sep1330_enums(
        &self,
        #[context] context: &InvocationContext,
    ) -> Result<String, ToolError> {
        let options = json!(["option1", "option2", "option3"]);
        let titled = json!([
            { "const": "value1", "title": "First Option" },
            { "const": "value2", "title": "Second Option" },
            { "const": "value3", "title": "Third Option" },
        ]);
        let properties = json!({
            "untitledSingle": { "type": "string", "enum": options },
            "titledSingle": { "type": "string", "oneOf": titled },
            "legacyEnum": {
                "type": "string",
                "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"],
            },
            "untitledMulti": { "type": "array", "items": { "type": "string", "enum": options } },
            "titledMulti": { "type": "array", "items": { "anyOf": titled } },
        });
        raw_form(context, &properties).await
    }
}

/// Sends a prompt to the model of the client.
async fn sample(context: &InvocationContext, key: &str, prompt: &str) -> Result<String, ToolError> {
    let message = json!({ "role": "user", "content": { "type": "text", "text": prompt } });
    let params = json!({ "messages": [message], "maxTokens": 100 });
    let answer = call(context)?.raw_request(key, "sampling/createMessage", params).await?;
    Ok(answer["content"]["text"].as_str().unwrap_or_default().to_owned())
}

/// Shows a form whose schema no Rust type has.
async fn raw_form(context: &InvocationContext, properties: &Value) -> Result<String, ToolError> {
    let schema = json!({ "type": "object", "properties": properties });
    let params = json!({ "message": "Please answer", "requestedSchema": schema });
    let answer = call(context)?.raw_request("form", "elicitation/create", params).await?;
    let action = answer["action"].as_str().unwrap_or_default();
    Ok(format!("Elicitation completed: action={action}, content={}", answer["content"]))
}

/// Prompts of all kinds.
struct Prompts;

#[tools]
impl Prompts {
    /// A prompt without arguments.
    #[tool(read_only)]
    async fn test_simple_prompt(&self) -> &'static str {
        "This is a simple prompt for testing."
    }

    /// A prompt with arguments.
    #[tool(read_only)]
    async fn test_prompt_with_arguments(
        &self,
        /// First test argument
        arg1: String,
        /// Second test argument
        arg2: String,
    ) -> String {
        format!("Prompt with arguments: arg1='{arg1}', arg2='{arg2}'")
    }

    /// A prompt with a document.
    #[tool(read_only)]
    async fn test_prompt_with_embedded_resource(
        &self,
        /// URI of the resource
        #[expect(non_snake_case, reason = "the name in the suite")]
        resourceUri: String,
    ) -> ToolOutput {
        let document = PdfContent::base64(PDF, "application/pdf").into();
        ToolOutput::contents([document, format!("Please process {resourceUri}.").into()])
    }

    /// A prompt with an image.
    #[tool(read_only)]
    async fn test_prompt_with_image(&self) -> ToolOutput {
        ToolOutput::contents([image().into(), "Please analyze the image above.".into()])
    }

    /// A prompt that asks the user of the client.
    #[tool(read_only)]
    async fn test_input_required_result_prompt(
        &self,
        #[context] context: &InvocationContext,
    ) -> Result<String, ToolError> {
        let message = "What context should the prompt use?";
        let name = call(context)?.elicit::<Topic>("user_context", message).await?;
        Ok(format!("Explain {}.", name.map_or_else(String::new, |topic| topic.context)))
    }
}

#[derive(Deserialize, JsonSchema)]
struct Topic {
    context: String,
}

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

fn resources(mut builder: McpServerBuilder) -> ai_services::Result<McpServerBuilder> {
    let uris = ["test://static-text", "test://static-binary", "test://template/{id}/data"];
    let types = ["text/plain", "image/png", "application/json"];
    let tools = ai_services::tool::ToolSet::tools(std::sync::Arc::new(Resources));
    for ((uri, media_type), tool) in uris.into_iter().zip(types).zip(tools) {
        builder = builder.resource(McpResource::new(uri, tool).media_type(media_type));
    }
    Ok(builder)
}

/// Adds the methods that the library leaves to the application.
fn raw_methods(builder: McpServerBuilder) -> McpServerBuilder {
    let completion = json!({ "completion": { "values": ["test"], "total": 1, "hasMore": false } });
    builder
        .raw_method("completion/complete", move |_params| {
            let completion = completion.clone();
            async { Ok(completion) }
        })
        .raw_method("logging/setLevel", |_params| async { Ok(json!({})) })
        .raw_method("resources/subscribe", |_params| async { Ok(json!({})) })
        .raw_method("resources/unsubscribe", |_params| async { Ok(json!({})) })
}

/// Returns a tool with an argument that clients repeat in a header.
fn header_tool() -> ai_services::Result<Tool> {
    let region = json!({ "type": "string", "x-mcp-header": "Region" });
    let schema = json!({ "type": "object", "properties": { "region": region } });
    tool_with_schema("test_header_tool", schema)
}

/// Returns a tool whose schema uses keywords that Rust types do not produce.
fn json_schema_tool() -> ai_services::Result<Tool> {
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
