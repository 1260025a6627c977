//! The server that the official conformance suite tests: `scripts/mcp-conformance` starts it.
//!
//! It offers the tools, resources and prompts that the scenarios of the suite call by name. The only argument is the
//! port on the loopback interface, 0 for any free port. It prints its URL.
#![allow(
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a missing member of JSON is null"
)]

mod media;
mod prompts;
mod questions;
mod resources;
mod tools;

use ai_services::InvocationContext;
use ai_services::mcp::{McpCall, McpServer, McpServerBuilder};
use ai_services::tool::ToolError;
use serde_json::json;

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
        .tools(tools::Contents)
        .tools(tools::Signals)
        .tools(questions::Questions)
        .tools(tools::json_schema()?)
        .tools(tools::header()?)
        .prompts(prompts::Prompts);
    raw_methods(resources::add(builder)?).build()
}

/// Returns the MCP call that a tool runs in.
fn call(context: &InvocationContext) -> Result<&McpCall, ToolError> {
    context.get::<McpCall>().ok_or_else(|| ToolError::new("only for MCP clients"))
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
