//! The tools of several MCP servers.

use super::catalog::{Catalog, LeftOut, ServerTools};
use super::link::Pause;
use super::pins::McpPins;
use super::remote_server::{RemoteServer, WhenDown};
use super::resources::{RemotePrompt, RemotePromptMessage, RemoteResource};
use crate::names::is_server_name;
use ai_services_core::message::Content;
use ai_services_core::tool::{Tool, ToolProvider, ToolRequest};
use ai_services_core::{Error, ErrorKind, Result};
use async_trait::async_trait;
use futures_util::future::join_all;
use rmcp::service::{Peer, RoleClient};
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

/// The tools of MCP servers, for services.
///
/// Each server has one connection, which all conversations share. A broken connection is opened again when tools are
/// selected or called, after a pause that doubles with each failed attempt. Dropping the last clone closes the
/// connections and ends the child processes.
///
/// # Names
///
/// Tools are named `server__tool`. Characters that a provider does not accept become `_`. A name of more than 64
/// characters is cut and ends with 8 digits of a digest. Two tools with one name are an error.
///
/// # Definitions
///
/// Servers write the definitions, and models read them: treat them like code. Use [`RemoteServer::only`] as an
/// allow-list, and [`McpPins`] to detect changes. Descriptions lose control, zero-width and bidirectional characters,
/// ANSI escapes and HTML comments, and are cut at 4,096 characters. A tool is [left out](Self::left_out) if a schema of it
/// is nested more than 64 levels deep, is larger than 256 KiB, or refers to another document.
///
/// A list has at most 1,000 pages, 10,000 tools and 16 MiB. It is used until the server reports a change, its end of
/// life (at least 1 second), or another connection.
///
/// # Results
///
/// Text, images, audio and embedded resources are sent to the model, links as one line of text. Media that cannot be
/// read become a note. Structured content is sent as JSON, unless a text has the same JSON, and kept in the attribute
/// [`STRUCTURED_CONTENT`](crate::STRUCTURED_CONTENT). Blocks for the user are only in the attribute
/// [`USER_CONTENT`](crate::USER_CONTENT). Errors of the tool and of the protocol are sent to the model, as the policies of the
/// service say.
///
/// A call that gets no answer, because the connection broke after it was sent or a time limit passed, may have taken
/// effect. It is not repeated. Its [`Effect`](ai_services_core::tool::Effect), by default
/// [`AtMostOnce`](ai_services_core::tool::Effect::AtMostOnce), decides about the result.
///
/// # Cancellation
///
/// Dropping a call sends a cancellation to the server.
///
/// # Logs
///
/// The crate `rmcp`, which implements the protocol, logs with `tracing`: notifications of servers, such as the messages
/// of progress reports, at level `INFO`, and requests of servers and all other messages at `DEBUG` and `TRACE`. Limit the
/// target `rmcp` to `WARN` if they are confidential.
///
/// # Examples
///
/// ```no_run
/// use ai_services::ai_service;
/// use ai_services::mcp::{McpTools, RemoteServer};
/// # use ai_services::testing::ScriptedChatModel;
/// use ai_services::tool::Effect;
///
/// #[ai_service]
/// trait Assistant {
///     async fn chat(&self, message: &str) -> ai_services::Result<String>;
/// }
///
/// # async fn run(model: ScriptedChatModel) -> ai_services::Result<()> {
/// let time = RemoteServer::stdio("time", "mcp-server-time").effect("*", Effect::ReadOnly);
/// let tools = McpTools::builder().server(time).build().await?;
/// let assistant = AssistantService::builder().chat_model(model).tool_provider(tools).build()?;
/// println!("{}", assistant.chat("What time is it in Tokyo?").await?);
/// # Ok(())
/// # }
/// ```
///
/// # Differences from LangChain4j
///
/// Names have a prefix, so that one server cannot replace a tool of another. Annotations of a server have no influence
/// by default. A call without an answer is not reported as a plain error.
#[derive(Clone)]
#[doc(alias = "McpToolProvider")]
pub struct McpTools {
    servers: Arc<[Arc<ServerTools>]>,
}

/// Builds [`McpTools`].
#[derive(Debug, Default)]
#[must_use]
pub struct McpToolsBuilder {
    servers: Vec<RemoteServer>,
    pins: Option<McpPins>,
}

impl McpToolsBuilder {
    /// Adds a server.
    pub fn server(mut self, server: RemoteServer) -> Self {
        self.servers.push(server);
        self
    }

    /// Sets the pins that the definitions of all servers are compared with. Default: none.
    pub fn pins(mut self, pins: McpPins) -> Self {
        self.pins = Some(pins);
        self
    }

    /// Connects to all servers at the same time and lists their tools.
    ///
    /// # Errors
    ///
    /// Fails if the name of a server is invalid or used twice, if a server is not reachable and
    /// [`WhenDown::Fail`] applies to it, if two tools have one name, if a tool differs from its pin, and if a server
    /// breaks the protocol or a limit.
    pub async fn build(self) -> Result<McpTools> {
        let mut names = BTreeSet::new();
        for server in &self.servers {
            let name = &server.name;
            if !is_server_name(name) {
                return Err(Error::configuration(format!(
                    "invalid name `{name}` of an MCP server; use 1 to 32 characters of `A-Z a-z 0-9 _ -`"
                )));
            }
            if !names.insert(name.clone()) {
                let message = format!("two MCP servers are named `{name}`");
                return Err(Error::configuration(message));
            }
        }
        let pins = self.pins.map(Arc::new);
        let server = |server| Arc::new(ServerTools::new(server, pins.clone()));
        let tools = McpTools { servers: self.servers.into_iter().map(server).collect() };
        tools.select().await?;
        Ok(tools)
    }
}

impl McpTools {
    /// Returns a builder without servers.
    pub fn builder() -> McpToolsBuilder {
        McpToolsBuilder::default()
    }

    /// Returns the tools of the last listing, in the order of the servers.
    ///
    /// # Examples
    ///
    /// ```
    /// # use ai_services::mcp::McpTools;
    /// /// Prints the text that models see.
    /// fn review(tools: &McpTools) {
    ///     for tool in tools.tools() {
    ///         println!("{}: {}", tool.name(), tool.specification().description);
    ///     }
    /// }
    /// ```
    #[must_use]
    pub fn tools(&self) -> Vec<Tool> {
        self.catalogs().flat_map(|catalog| catalog.tools.clone()).collect()
    }

    /// Returns the tools of the last listing that are not offered to models, with the reasons. Tools that
    /// [`RemoteServer::only`] or [`RemoteServer::without`] leave out are not in the list.
    #[must_use]
    pub fn left_out(&self) -> Vec<LeftOut> {
        self.catalogs().flat_map(|catalog| catalog.left_out.clone()).collect()
    }

    /// Returns the resources of a server.
    ///
    /// # Errors
    ///
    /// Fails if the server is unknown or not reachable, or does not offer resources.
    pub async fn resources(&self, server: &str) -> Result<Vec<RemoteResource>> {
        self.server(server)?.source.resources().await
    }

    /// Reads a resource of a server.
    ///
    /// # Errors
    ///
    /// Fails if the server is unknown or not reachable, or if the resource does not exist.
    pub async fn read_resource(&self, server: &str, uri: &str) -> Result<Vec<Content>> {
        self.server(server)?.source.read_resource(uri).await
    }

    /// Returns the prompts of a server.
    ///
    /// # Errors
    ///
    /// Fails if the server is unknown or not reachable, or does not offer prompts.
    pub async fn prompts(&self, server: &str) -> Result<Vec<RemotePrompt>> {
        self.server(server)?.source.prompts().await
    }

    /// Renders a prompt of a server.
    ///
    /// # Errors
    ///
    /// Fails if the server is unknown or not reachable, if the prompt does not exist, or if an argument is missing.
    pub async fn prompt(
        &self,
        server: &str,
        name: &str,
        arguments: Map<String, Value>,
    ) -> Result<Vec<RemotePromptMessage>> {
        self.server(server)?.source.prompt(name, arguments).await
    }

    /// Returns the connection to a server, for parts of the protocol that this crate does not cover.
    ///
    /// **Unstable:** the type belongs to the crate `rmcp`. A minor release of this crate may use another major version
    /// of `rmcp`, or none. The limits, pins and time limits of this crate do not apply.
    ///
    /// # Errors
    ///
    /// Fails if the server is unknown or not reachable.
    pub async fn rmcp_peer(&self, server: &str) -> Result<Peer<RoleClient>> {
        let connection = self.server(server)?.source.link.connection(Pause::Wait).await?;
        Ok(connection.peer().clone())
    }

    fn server(&self, name: &str) -> Result<&Arc<ServerTools>> {
        let server = self.servers.iter().find(|server| server.source.link.server.name == name);
        server.ok_or_else(|| Error::configuration(format!("unknown MCP server `{name}`")))
    }

    fn catalogs(&self) -> impl Iterator<Item = Arc<Catalog>> {
        self.servers.iter().filter_map(|server| server.last_catalog())
    }

    /// Returns the tools of all servers that are reachable.
    async fn select(&self) -> Result<Vec<Tool>> {
        let catalogs = join_all(self.servers.iter().map(|server| server.catalog())).await;
        let (mut tools, mut names) = (Vec::new(), BTreeSet::new());
        for (server, catalog) in self.servers.iter().zip(catalogs) {
            let server = &server.source.link.server;
            let catalog = match catalog {
                Ok(catalog) => catalog,
                Err(error) if server.when_down == WhenDown::Skip && is_down(&error) => {
                    tracing::warn!(server = server.name, %error, "an MCP server is skipped");
                    continue;
                }
                Err(error) => return Err(error),
            };
            for tool in &catalog.tools {
                if !names.insert(tool.name().to_owned()) {
                    let message = format!(
                        "two MCP servers have a tool `{}`; use the prefix or rename one of them",
                        tool.name()
                    );
                    return Err(Error::configuration(message));
                }
                tools.push(tool.clone());
            }
        }
        Ok(tools)
    }
}

/// Returns `false` for an error that the application has to see, such as a tool that differs from its pin.
fn is_down(error: &Error) -> bool {
    error.kind() != ErrorKind::Configuration
}

#[async_trait]
impl ToolProvider for McpTools {
    async fn tools(&self, _: &ToolRequest<'_>) -> Result<Vec<Tool>> {
        self.select().await
    }

    /// Returns the names of the last listing, or `None` if a server was not reachable.
    fn tool_names(&self) -> Option<Vec<String>> {
        let catalogs: Option<Vec<_>> =
            self.servers.iter().map(|server| server.last_catalog()).collect();
        let tools = catalogs?.into_iter().flat_map(|catalog| catalog.tools.clone());
        Some(tools.map(|tool| tool.name().to_owned()).collect())
    }
}

impl fmt::Debug for McpTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let servers = self.servers.iter().map(|server| server.source.link.server.name.as_str());
        f.debug_struct("McpTools").field("servers", &servers.collect::<Vec<_>>()).finish()
    }
}
