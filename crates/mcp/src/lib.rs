//! Model Context Protocol (MCP): tools of MCP servers for services, and an MCP server for tools and services.
//!
//! Part of [`ai-services`](https://docs.rs/ai-services), which re-exports everything here as `ai_services::mcp`
//! with the feature `mcp`. OAuth needs the feature `mcp-auth` there, and `auth` here.
//!
//! | goal | type |
//! |---|---|
//! | Give the tools of MCP servers to a service | [`McpTools`], a [`ToolProvider`](ai_services_core::tool::ToolProvider), with a [`RemoteServer`] for each server |
//! | Detect changed definitions of tools | [`McpPins`] |
//! | Authorize requests by OAuth | [`RemoteServer::oauth`], with an [`OAuth`]; a [`TokenStore`] keeps the tokens |
//! | Answer the questions of a server to the user | [`RemoteServer::on_elicitation`], or a suspended turn: see [below](#questions-and-tasks) |
//! | Read resources, fill in prompts | [`McpTools::read_resource`], [`McpTools::prompt`], or as tools: [`RemoteServer::resource_tools`], [`RemoteServer::prompt_tools`] |
//! | Offer tools and services to MCP clients | [`McpServer`] |
//! | Ask the user of the client from a tool | [`McpCall`] |
//!
//! # Eras
//!
//! The revision 2026-07-28 of the protocol is stateless. The revisions before it have a handshake and sessions, and the
//! two cannot talk to each other. [`McpTools`] probes the [`Era`] of a server; an [`McpServer`] speaks both.
//!
//! # Authorization
//!
//! A server that is reached by HTTP can require a token:
//!
//! | token | setting |
//! |---|---|
//! | fixed, for example an API key | [`RemoteServer::header`] |
//! | of the user of each service call, from the application | [`RemoteServer::call_headers`] |
//! | by the consent of one user in a browser | [`OAuth::authorization_code`] |
//! | by the credentials of the program | [`OAuth::client_credentials`], [`OAuth::private_key_jwt`] |
//!
//! With [`OAuth`], the client discovers the authorization server, registers itself, asks the user, and renews tokens.
//! A program with a terminal can wait for the redirect of the browser on a loopback address:
//!
//! ```no_run
//! use ai_services::mcp::{McpTools, OAuth, RemoteServer};
//! use ai_services::{Error, ErrorKind};
//! use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
//! use tokio::net::TcpListener;
//!
//! const REDIRECT: &str = "http://127.0.0.1:8976";
//!
//! /// Returns the address of the next page that the browser requests.
//! async fn next_page() -> std::io::Result<String> {
//!     let listener = TcpListener::bind("127.0.0.1:8976").await?;
//!     let (stream, _) = listener.accept().await?;
//!     let mut stream = BufReader::new(stream);
//!     let mut line = String::new();
//!     stream.read_line(&mut line).await?;
//!     stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nDone").await?;
//!     let path = line.split(' ').nth(1).unwrap_or_default();
//!     Ok(format!("{REDIRECT}{path}"))
//! }
//!
//! # async fn run() -> ai_services::Result<()> {
//! let login = OAuth::authorization_code(format!("{REDIRECT}/callback"), |request| async move {
//!     println!("{} asks for your consent. Open {}", request.server, request.url);
//!     let failed = |error| Error::new(ErrorKind::Connection, "no redirect").with_source(error);
//!     next_page().await.map_err(failed)
//! });
//! let crm = RemoteServer::http("crm", "https://crm.example/mcp").oauth(login);
//! let tools = McpTools::builder().server(crm).build().await?;
//! # let _ = tools;
//! # Ok(())
//! # }
//! ```
//!
//! A web backend sends the address that its handler received on a channel, which it finds by
//! [`AuthorizationRequest::state`]. A [`TokenStore`] keeps tokens over restarts.
//!
//! # Trust
//!
//! Servers are programs of other people. Their descriptions are read by the model, so that a hostile description is a
//! prompt injection:
//!
//! - Choose the tools by an allow-list ([`RemoteServer::only`]) and pin their definitions.
//! - The hints of a server about the effects of its tools have no influence, unless [`RemoteServer::trust_annotations`]
//!   is set. Each tool is [`AtMostOnce`](ai_services_core::tool::Effect::AtMostOnce) by default.
//! - A child process gets few variables of the environment, an HTTP server only the headers that you set for it.
//! - Links in results are not fetched.
//!
//! # Questions and tasks
//!
//! A modern server can end a call with questions to the user, or with the handle of a task.
//!
//! | | turn with a journal | other turn |
//! |---|---|---|
//! | question | [`RemoteServer::on_elicitation`] within the call; without it, the turn is suspended | the same function; without it, the question is declined |
//! | task | polled for [`RemoteServer::task_wait`], then the turn is suspended | polled until [`RemoteServer::total_timeout`], then canceled |
//!
//! A suspended turn is a [`PendingTurn`](ai_services_core::approval::PendingTurn). Its calls say what they
//! [wait for](ai_services_core::approval::WaitsFor). The answers are checked against the schema of the form,
//! kept in the journal, and sent with the same call, whose [`Effect`](ai_services_core::tool::Effect) decides if its answer is lost. A
//! task is polled after each restart, and its call is never sent again.
//!
//! A server that refuses a call until the user has visited a web page (error -32042) asks in the same way. The call is
//! then sent again, once. The other questions of a legacy server come while the call is open, and cannot suspend the
//! turn.
//!
//! A call has at most 10 rounds of questions, of 64 KiB each. The state that a server wants back has at most 1 MiB. The
//! time between two polls is 0.1 to 60 seconds (default: 1 second), as the server suggests. A task that has not ended
//! after 30 days is canceled, and its outcome is unknown.
//!
//! # Limits
//!
//! Sampling, roots, and the experimental tasks of the revision 2025-11-25 are not supported. Neither are some extensions of
//! the authorization: proof of possession (`DPoP`), enterprise-managed authorization and workload identities.
//!
//! A message of a server has at most 16 MiB, a request of a client 4 MiB ([`McpServerBuilder::max_request_bytes`]). Both
//! have at most 250,000 structural characters (`[`, `{`, `:`, `,`) outside of strings, because a parsed value needs about
//! 130 bytes. A larger message in a stream is skipped, so that its call ends with the stream or at the time limit. A client
//! gets the status 413 for a larger request.

mod clean;
mod client;
mod content;
mod definition;
mod message_limit;
mod names;
mod server;

#[cfg(feature = "auth")]
#[cfg_attr(docsrs, doc(cfg(feature = "auth")))]
pub use client::{AuthorizationRequest, CredentialKey, OAuth, OAuthCredentials, TokenStore};
pub use client::{
    Elicitation, ElicitationAnswer, ElicitationKind, Era, LeftOut, McpPins, McpTools,
    McpToolsBuilder, OnChange, RemotePrompt, RemotePromptArgument, RemotePromptMessage,
    RemoteResource, RemoteServer, WhenDown,
};
pub use content::{STRUCTURED_CONTENT, USER_CONTENT};
pub use server::{
    McpCall, McpHttpBody, McpHttpService, McpPrincipal, McpResource, McpServer, McpServerBuilder,
};
