//! Time of a tool call of an MCP server over loopback HTTP, in both eras of the protocol.
//!
//! | case | measures |
//! |---|---|
//! | `mapped` | a turn of a service with an in-process model, which calls the tool once through `McpTools` |
//! | `service` | the same turn with the same tool in the process |
//! | `rmcp` | `call_tool` of the SDK's client over an equal HTTP client, and the text of its result |
//!
//! The cost of the mapping is `mapped` less `service` less `rmcp`. Server and clients share one thread.
//!
//! ```text
//! taskset -c 0 cargo bench -p ai-services-benches --bench mcp
//! ```
#![allow(clippy::unwrap_used, reason = "a failed call cannot be measured")]

use ai_services::mcp::{Era, McpServer, McpTools, RemoteServer};
use ai_services::message::{AiMessage, ChatMessage, ToolCall};
use ai_services::model::{ChatModel, ChatRequest, ChatResponse};
use ai_services::{ai_service, tool};
use ai_services_benches::workload::{self, TEXT};
use axum::serve::ListenerExt;
use criterion::{Criterion, criterion_group, criterion_main};
use rmcp::model::{CallToolRequestParams, ProtocolVersion};
use rmcp::service::RunningService;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{ClientLifecycleMode, ClientServiceExt, RoleClient};
use serde_json::{Map, Value};
use std::time::Duration;
use tokio::net::TcpListener;

/// Returns the text.
#[tool(read_only)]
fn echo(text: String) -> String {
    text
}

#[ai_service]
trait Agent {
    async fn ask(&self, text: &str) -> ai_services::Result<String>;
}

/// A model that calls a tool once, and returns its result.
struct CallingModel(&'static str);

#[ai_services::async_trait]
impl ChatModel for CallingModel {
    async fn chat(&self, request: &ChatRequest) -> ai_services::Result<ChatResponse> {
        Ok(ChatResponse::new(match request.messages().next_back() {
            Some(ChatMessage::ToolResult(result)) => AiMessage::new(result.text().unwrap()),
            _ => {
                let arguments = format!(r#"{{"text":"{TEXT}"}}"#);
                AiMessage::builder().tool_calls([ToolCall::new("1", self.0, arguments)]).build()
            }
        }))
    }
}

/// Starts the server and returns its URL.
async fn serve() -> String {
    let server = McpServer::builder("echo", "1").tools(echo::tool()).build().unwrap();
    let app = axum::Router::new().route_service("/mcp", server.into_http_service());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let listener = listener.tap_io(|connection| connection.set_nodelay(true).unwrap());
    #[allow(clippy::disallowed_methods, reason = "the server runs beside its clients")]
    tokio::spawn(async move { axum::serve(listener, app).await });
    url
}

async fn bare(url: &str, era: Era) -> RunningService<RoleClient, ()> {
    let lifecycle = match era {
        Era::Legacy => ClientLifecycleMode::Initialize,
        _ => ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::LATEST] },
    };
    // The settings of the client of `McpTools`. The SDK's default client is slower.
    let client = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(Duration::from_secs(10))
        .tcp_keepalive(Duration::from_secs(60))
        .build()
        .unwrap();
    let config = StreamableHttpClientTransportConfig::with_uri(url);
    let transport = StreamableHttpClientTransport::with_client(client, config);
    ().serve_with_lifecycle(transport, lifecycle).await.unwrap()
}

async fn call(client: &RunningService<RoleClient, ()>) -> String {
    let arguments = Map::from_iter([("text".to_owned(), Value::from(TEXT))]);
    let request = CallToolRequestParams::new("echo").with_arguments(arguments);
    let result = client.call_tool(request).await.unwrap();
    result.content.first().and_then(|block| block.as_text()).unwrap().text.clone()
}

fn mcp(criterion: &mut Criterion) {
    rustls::crypto::ring::default_provider().install_default().unwrap();
    let runtime = workload::runtime();
    let url = runtime.block_on(serve());
    for (name, era) in [("mcp modern", Era::Modern), ("mcp legacy", Era::Legacy)] {
        let mut group = criterion.benchmark_group(name);
        let tools = runtime.block_on(async {
            let server = RemoteServer::http("s", url.as_str()).era(era);
            McpTools::builder().server(server).build().await.unwrap()
        });
        let agent = AgentService::builder().chat_model(CallingModel("s__echo"));
        let agent = agent.tool_provider(tools).build().unwrap();
        assert_eq!(runtime.block_on(agent.ask("go")).unwrap(), TEXT);
        group.bench_function("mapped", |bencher| {
            bencher.to_async(&runtime).iter(async || agent.ask("go").await.unwrap());
        });
        let local = AgentService::builder().chat_model(CallingModel("echo")).tools(echo::tool());
        let local = local.build().unwrap();
        assert_eq!(runtime.block_on(local.ask("go")).unwrap(), TEXT);
        group.bench_function("service", |bencher| {
            bencher.to_async(&runtime).iter(async || local.ask("go").await.unwrap());
        });
        let client = runtime.block_on(bare(&url, era));
        assert_eq!(runtime.block_on(call(&client)), TEXT);
        group.bench_function("rmcp", |bencher| {
            bencher.to_async(&runtime).iter(async || call(&client).await);
        });
        group.finish();
    }
}

criterion_group!(benches, mcp);
criterion_main!(benches);
