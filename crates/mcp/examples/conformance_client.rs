//! The client that the official conformance suite tests: `scripts/mcp-conformance` runs it, once per scenario.
//!
//! A service gets the tools of the server and a model that calls each of them once. The only argument is the URL of the
//! server. The suite describes the scenario in environment variables.
#![allow(clippy::indexing_slicing, reason = "a missing member of JSON is null")]

use ai_services::mcp::{ElicitationAnswer, ElicitationKind, Era, McpTools, OAuth, RemoteServer};
use ai_services::message::ToolCall;
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use ai_services::tool::Tool;
use ai_services::{Error, ErrorKind, ai_service};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::env;

/// The page that describes the client. Authorization servers of the suite know it.
const METADATA: &str = "https://conformance-test.local/client-metadata.json";
/// The end of a consent. Nothing listens there: the program reads the address of the redirect.
const REDIRECT: &str = "http://localhost:3000/callback";

#[ai_service]
trait Agent {
    async fn act(&self, message: &str) -> ai_services::Result<String>;
}

/// The data of a scenario.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Scenario {
    client_id: Option<String>,
    client_secret: Option<String>,
    private_key_pem: Option<String>,
    #[serde(rename = "toolCalls", alias = "tool_calls")]
    tool_calls: Vec<PlannedCall>,
}

#[derive(Deserialize)]
struct PlannedCall {
    name: String,
    #[serde(default)]
    arguments: Map<String, Value>,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // For the program's own requests, in place of the user.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let url = env::args().nth(1).ok_or("usage: conformance_client URL")?;
    let name = env::var("MCP_CONFORMANCE_SCENARIO").unwrap_or_default();
    let scenario: Scenario = match env::var("MCP_CONFORMANCE_CONTEXT") {
        Ok(json) => serde_json::from_str(&json)?,
        Err(_) => Scenario::default(),
    };
    let server = RemoteServer::http("suite", url)
        .era(era())
        .without_prefix()
        .on_elicitation(|question| async move { accept_defaults(&question.kind) })
        .oauth(authorization(&name, &scenario));
    let tools = McpTools::builder().server(server).build().await?;
    let calls = if scenario.tool_calls.is_empty() {
        example_calls(&tools.tools())
    } else {
        scenario.tool_calls.iter().map(|planned| call(&planned.name, &planned.arguments)).collect()
    };
    act(tools, calls).await?;
    Ok(())
}

/// Returns the era of the revision that the suite tests.
fn era() -> Era {
    match env::var("MCP_CONFORMANCE_PROTOCOL_VERSION").as_deref() {
        Ok("2026-07-28") => Era::Modern,
        _ => Era::Legacy,
    }
}

fn authorization(name: &str, scenario: &Scenario) -> OAuth {
    if let (true, Some(id), Some(secret)) =
        (name.starts_with("auth/client-credentials"), &scenario.client_id, &scenario.client_secret)
    {
        return OAuth::client_credentials(id, secret);
    }
    if let (Some(id), Some(pem)) = (&scenario.client_id, &scenario.private_key_pem) {
        return OAuth::private_key_jwt(id, pem);
    }
    let mut oauth = OAuth::authorization_code(REDIRECT, |request| consent(request.url))
        .client_metadata_url(METADATA)
        .client_name("conformance");
    if let Some(id) = &scenario.client_id {
        oauth = oauth.client_id(id);
    }
    if let Some(secret) = &scenario.client_secret {
        oauth = oauth.client_secret(secret);
    }
    oauth
}

/// Consents in place of a user: the authorization servers of the suite redirect at once.
async fn consent(url: String) -> ai_services::Result<String> {
    let failed =
        |error: reqwest::Error| Error::new(ErrorKind::Connection, "no consent").with_source(error);
    let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
    let client = client.build().map_err(failed)?;
    let answer = client.get(url).send().await.map_err(failed)?;
    let location = answer.headers().get(reqwest::header::LOCATION);
    let location = location.and_then(|location| location.to_str().ok());
    let declined = || Error::new(ErrorKind::Authentication, "the page does not redirect");
    location.map(str::to_owned).ok_or_else(declined)
}

/// Lets a model call tools, one after the other.
async fn act(tools: McpTools, calls: Vec<ToolCall>) -> ai_services::Result<()> {
    if calls.is_empty() {
        return Ok(());
    }
    let model = ScriptedChatModel::new(
        calls
            .into_iter()
            .map(|call| ScriptedAnswer::tool_calls([call]))
            .chain([ScriptedAnswer::text("Done.")]),
    );
    let agent = AgentService::builder().chat_model(model).tool_provider(tools).build()?;
    agent.act("Call the tools.").await?;
    Ok(())
}

fn call(name: &str, arguments: &Map<String, Value>) -> ToolCall {
    ToolCall::new(name, name, Value::Object(arguments.clone()).to_string())
}

/// Returns a call of each tool, with its required arguments.
fn example_calls(tools: &[Tool]) -> Vec<ToolCall> {
    // The suite compares the schema that a client received with the one that it sent.
    let object = tools.first().map_or(Value::Null, schema);
    let example = |schema: &Value| match schema["type"].as_str() {
        Some("number" | "integer") => json!(1),
        Some("boolean") => json!(true),
        Some("array") => json!([]),
        Some("object") => object.clone(),
        _ => json!("example"),
    };
    let arguments = |tool: &Tool| {
        let schema = schema(tool);
        let required = schema["required"].as_array().into_iter().flatten();
        let named = required.filter_map(Value::as_str);
        named.map(|name| (name.to_owned(), example(&schema["properties"][name]))).collect()
    };
    tools.iter().map(|tool| call(tool.name(), &arguments(tool))).collect()
}

fn schema(tool: &Tool) -> Value {
    let schema = tool.specification().parameters.clone();
    schema.map_or(Value::Null, |schema| schema.to_value())
}

/// Fills in a form with the defaults of its schema.
fn accept_defaults(kind: &ElicitationKind) -> ElicitationAnswer {
    let ElicitationKind::Form { schema } = kind else { return ElicitationAnswer::Decline };
    let properties = schema["properties"].as_object().cloned().unwrap_or_default();
    let defaults = properties.into_iter().filter_map(|(name, property)| {
        let default = property.get("default").cloned();
        default.map(|default| (name, default))
    });
    ElicitationAnswer::Accept(Value::Object(defaults.collect()))
}
