//! An MCP server for tools and services.

mod blocks;
mod builder;
mod definition;
mod elicitation;
mod gate;
mod handler;
mod http_service;
mod mcp_call;
mod offer;
mod principal;
mod raw;
mod request_state;
mod resource;
mod run;
mod sessions;

pub use builder::McpServerBuilder;
pub use http_service::{McpHttpBody, McpHttpService};
pub use mcp_call::McpCall;
pub use principal::McpPrincipal;
pub use resource::McpResource;

use crate::message_limit::FilteredLines;
use ai_services_core::{Error, ErrorKind, Result};
use handler::Handler;
use principal::Authentication;
use rmcp::service::{QuitReason, ServerInitializeError, serve_server};
use rmcp::transport::StreamableHttpServerConfig;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::io::{AsyncRead, AsyncWrite};

/// An MCP server: offers tools, services, resources and prompts to AI applications.
///
/// It speaks the revisions up to 2025-11-25, with a handshake and sessions, and the stateless revision 2026-07-28, on
/// stdio and on HTTP. Each client uses the revision that it knows.
///
/// # Tools
///
/// A tool runs with the same rules as in a service: time limit, lenient arguments, panics. Wrong arguments, errors and
/// exceeded time limits are results with `isError`, which the model of the client can react to. If the client cancels
/// a call, or closes the connection, the future of the tool is dropped. A tool reports progress with
/// [`ToolInput::report`](ai_services_core::tool::ToolInput::report), and asks the user of the client with [`McpCall`].
///
/// The effect of a tool becomes a hint for the client: `read_only` is `readOnlyHint`, and `idempotent` with a key
/// template is `idempotentHint`. A tool that requires approval cannot be offered.
///
/// The tools, resources and prompts are fixed when the server is built. The server therefore advertises no `listChanged`,
/// and answers `subscriptions/listen` with "method not found". To change the set, serve a new server: clients of the
/// stateless revision ask again within the time to live of a list, others after they have connected again.
///
/// # Security
///
/// - The memory id of a call is that of the authenticated [principal](McpServerBuilder::principal), never an argument.
/// - The HTTP endpoint rejects requests whose `Host` or `Origin` is not allowed, requests whose headers contradict
///   their body, and large bodies.
/// - The SDK behind this server writes requests to `tracing` at the levels `debug` and `trace`, under the target
///   `rmcp`. Exclude the target if arguments are confidential.
///
/// # Examples
///
/// ```
/// use ai_services::mcp::McpServer;
/// use ai_services::tools;
///
/// struct Shop;
///
/// #[tools]
/// impl Shop {
///     /// Returns the price of an article.
///     #[tool(read_only)]
///     async fn price(&self, article: String) -> Result<f64, String> {
///         if article == "lamp" { Ok(19.5) } else { Err(format!("no article `{article}`")) }
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> ai_services::Result<()> {
/// let server = McpServer::builder("shop", "1.0.0").tools(Shop).build()?;
/// # use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
/// # let (client, own) = tokio::io::duplex(4096);
/// # let (reader, writer) = tokio::io::split(own);
/// # let exchange = async {
/// #     let (reader, mut writer) = tokio::io::split(client);
/// #     writer.write_all(br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"price",
/// #         "arguments":{"article":"lamp"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",
/// #         "io.modelcontextprotocol/clientCapabilities":{}}}}"#.map(|b| if b == b'\n' { b' ' } else { b }).as_slice()).await.unwrap();
/// #     writer.write_all(b"\n").await.unwrap();
/// #     let answer = BufReader::new(reader).lines().next_line().await.unwrap().unwrap();
/// #     assert!(answer.contains("19.5"), "{answer}");
/// # };
/// # tokio::select! { served = server.serve(reader, writer) => served?, () = exchange => {} }
/// # if false {
/// # let server = McpServer::builder("shop", "1.0.0").tools(Shop).build()?;
/// server.serve_stdio().await?;
/// # }
/// # Ok(())
/// # }
/// ```
///
/// Over HTTP, with axum:
///
/// ```no_run
/// use ai_services::mcp::{McpPrincipal, McpServer};
/// use ai_services::{Error, ErrorKind, tool};
/// use axum::serve::ListenerExt;
///
/// /// Returns the current temperature.
/// #[tool(read_only)]
/// async fn temperature() -> f64 {
///     21.5
/// }
///
/// #[tokio::main]
/// async fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let server = McpServer::builder("house", "1.0.0")
///         .tools(temperature::tool())
///         .principal(|request| match request.headers.get("authorization") {
///             Some(key) if key == "Bearer secret" => Ok(McpPrincipal::new("klaus")),
///             _ => Err(Error::new(ErrorKind::Authentication, "unknown key")),
///         })
///         .build()?;
///     let app = axum::Router::new().route_service("/mcp", server.into_http_service());
///     let listener = tokio::net::TcpListener::bind("127.0.0.1:8000").await?;
///     // Sends each event at once. A connection works without the option, too.
///     let listener = listener.tap_io(|connection| drop(connection.set_nodelay(true)));
///     axum::serve(listener, app).await?;
///     Ok(())
/// }
/// ```
#[derive(Clone, Debug)]
pub struct McpServer {
    handler: Handler,
    http: StreamableHttpServerConfig,
    authentication: Option<Authentication>,
}

impl McpServer {
    /// Creates a builder. Clients show the name and the version to their users.
    pub fn builder(name: impl Into<String>, version: impl Into<String>) -> McpServerBuilder {
        McpServerBuilder::new(name.into(), version.into())
    }

    /// Serves the client that started this process, until the client closes the standard input.
    ///
    /// The standard output belongs to the protocol: print nothing there, and write logs to standard error.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Connection`] if the client does not open the connection as the protocol demands.
    ///
    /// # Cancellation
    ///
    /// Dropping the future closes the connection and drops the running tools.
    pub async fn serve_stdio(self) -> Result<()> {
        let (reader, writer) = rmcp::transport::stdio_pipes();
        self.serve(reader, writer).await
    }

    /// Serves one client over a stream of lines, for example a Unix socket, until the client closes it.
    ///
    /// # Errors
    ///
    /// Same as [`serve_stdio`](Self::serve_stdio).
    ///
    /// # Cancellation
    ///
    /// Same as [`serve_stdio`](Self::serve_stdio).
    pub async fn serve<R, W>(self, reader: R, writer: W) -> Result<()>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let lines = FilteredLines::new(reader, self.http.max_request_body_bytes);
        let transport =
            AsyncRwTransport::new_server(lines, writer).with_max_line_length(usize::MAX);
        let connection = |message: String| Error::new(ErrorKind::Connection, message);
        let running = match Box::pin(serve_server(self.handler, transport)).await {
            Ok(running) => running,
            // The client closed the stream before it sent a request.
            Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
            Err(error) => return Err(connection(format!("the client did not connect: {error}"))),
        };
        match running.waiting().await {
            Ok(QuitReason::JoinError(error)) | Err(error) => {
                Err(connection(format!("the connection failed: {error}")))
            }
            Ok(_) => Ok(()),
        }
    }

    /// Returns the HTTP endpoint, for axum, hyper and other servers.
    ///
    /// For requests that a proxy forwards with their `Host`, name the public host with
    /// [`allowed_host`](McpServerBuilder::allowed_host).
    ///
    /// Clients of earlier revisions have sessions, at most 10,000 at once. A session ends after 5 minutes without a
    /// request. All requests of a session must reach the same process. The stateless revision has no sessions.
    #[must_use]
    pub fn into_http_service(self) -> McpHttpService {
        McpHttpService::new(self.handler, self.http, self.authentication)
    }
}
