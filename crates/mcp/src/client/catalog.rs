//! The tools of one server.

use super::call;
use super::connection::Connection;
use super::link::Pause;
use super::listing::Listing;
use super::pattern::any_matches;
use super::pins::McpPins;
use super::remote_server::{RemoteServer, ToolRules, WhenDown};
use super::resources;
use super::source::Source;
use crate::definition::Definition;
use crate::names::model_name;
use ai_services_core::model::ToolSpecification;
use ai_services_core::tool::{Effect, Tool};
use ai_services_core::{Error, Result};
use rmcp::model::Tool as RemoteTool;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use tokio::time::Instant;

/// The tools of one server.
pub(super) struct ServerTools {
    /// Shared with the tools, which must not keep their own catalog alive.
    pub(super) source: Arc<Source>,
    catalog: Mutex<Option<Arc<Catalog>>>,
}

/// The tools of the last listing.
#[derive(Default)]
pub(super) struct Catalog {
    pub(super) tools: Vec<Tool>,
    pub(super) left_out: Vec<LeftOut>,
    connection: Weak<Connection>,
    /// The changes that the server had reported before.
    changes: u64,
    fresh_until: Option<Instant>,
}

/// A tool of a server that is not offered to models.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeftOut {
    /// The name of the server.
    pub server: String,
    /// The name of the tool at the server.
    pub tool: String,
    /// The reason.
    pub reason: String,
}

impl ServerTools {
    pub(super) fn new(server: RemoteServer, pins: Option<Arc<McpPins>>) -> Self {
        Self { source: Arc::new(Source::new(server, pins)), catalog: Mutex::default() }
    }

    /// Returns the tools of the last listing.
    pub(super) fn last_catalog(&self) -> Option<Arc<Catalog>> {
        self.catalog.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the tools, listed again if the list has changed or expired, or if the connection is another one.
    pub(super) async fn catalog(&self) -> Result<Arc<Catalog>> {
        let pause = match self.source.link.server.when_down {
            WhenDown::Fail => Pause::Wait,
            WhenDown::Skip => Pause::Fail,
        };
        self.source.link.read(pause, |connection| self.catalog_of(connection)).await
    }

    async fn catalog_of(&self, connection: Arc<Connection>) -> Result<Arc<Catalog>> {
        let changes = connection.tool_changes();
        if let Some(catalog) = self.last_catalog()
            && catalog.is_fresh(&connection, changes)
        {
            return Ok(catalog);
        }
        let catalog = Arc::new(self.list(&connection, changes).await?);
        *self.catalog.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&catalog));
        Ok(catalog)
    }

    async fn list(&self, connection: &Arc<Connection>, changes: u64) -> Result<Catalog> {
        let server = &self.source.link.server;
        let mut listing = Listing { entries: Vec::new(), fresh_until: None };
        if connection.offers(|capabilities| capabilities.tools.is_some()) {
            let limit = server.connect_timeout;
            let tools = connection.list::<RemoteTool>(limit).await;
            listing =
                tools.map_err(|failure| failure.into_error(&server.name, "list its tools"))?;
        }
        check_names(&server.name, &listing.entries)?;
        let hidden = self.source.compare(connection, changes, &listing.entries)?;
        let mut selection = Selection::new(&server.name);
        for tool in listing.entries.iter().filter(|tool| server.rules.uses(&tool.name)) {
            if hidden.contains(tool.name.as_ref()) {
                selection.leave_out(&tool.name, "it differs from its pin".to_owned());
                continue;
            }
            match Definition::new(tool) {
                Ok(definition) => selection.add(self.tool(definition))?,
                Err(reason) => selection.leave_out(&tool.name, reason),
            }
        }
        for tool in resources::tools(&self.source, connection) {
            selection.add(tool)?;
        }
        let connection = Arc::downgrade(connection);
        let (tools, left_out) = (selection.tools, selection.left_out);
        Ok(Catalog { tools, left_out, connection, changes, fresh_until: listing.fresh_until })
    }

    fn tool(&self, definition: Definition) -> (String, Tool) {
        let server = &self.source.link.server;
        let (rules, name) = (&server.rules, definition.name.as_str());
        let specification = ToolSpecification::new(
            rules.model_name(&server.name, name),
            definition.description.as_str(),
        )
        .with_parameters(definition.parameters.clone());
        let (source, remote_name) = (Arc::clone(&self.source), Arc::<str>::from(name));
        let tool = Tool::from_fn(specification, move |input| {
            call::call(Arc::clone(&source), Arc::clone(&remote_name), input)
        });
        let tool = tool.with_timeout(server.total_timeout).with_effect(rules.effect(&definition));
        let tool = tool.suspending();
        let needs_approval = any_matches(&rules.approvals, name);
        let tool = if needs_approval { tool.requiring_approval() } else { tool };
        (definition.name, tool)
    }
}

impl Catalog {
    fn is_fresh(&self, connection: &Arc<Connection>, changes: u64) -> bool {
        std::ptr::eq(self.connection.as_ptr(), Arc::as_ptr(connection))
            && self.changes == changes
            && self.fresh_until.is_none_or(|until| Instant::now() < until)
    }
}

fn check_names(server: &str, tools: &[RemoteTool]) -> Result<()> {
    let mut seen = BTreeSet::new();
    if let Some(twice) = tools.iter().find(|tool| !seen.insert(tool.name.as_ref())) {
        let name = crate::clean::clean_text(&twice.name, 128);
        let message = format!("MCP server `{server}` lists two tools `{name}`");
        return Err(Error::configuration(message));
    }
    Ok(())
}

/// The tools of a listing that are offered to models, by the name that models see.
struct Selection<'a> {
    server: &'a str,
    tools: Vec<Tool>,
    names: BTreeMap<String, String>,
    left_out: Vec<LeftOut>,
}

impl<'a> Selection<'a> {
    fn new(server: &'a str) -> Self {
        Self { server, tools: Vec::new(), names: BTreeMap::new(), left_out: Vec::new() }
    }

    /// Adds a tool with its name at the server.
    fn add(&mut self, (remote_name, tool): (String, Tool)) -> Result<()> {
        let name = tool.name().to_owned();
        if let Some(other) = self.names.insert(name.clone(), remote_name.clone()) {
            let server = self.server;
            let message = format!(
                "the tools `{other}` and `{remote_name}` of MCP server `{server}` are both named `{name}`; rename one of them"
            );
            return Err(Error::configuration(message));
        }
        self.tools.push(tool);
        Ok(())
    }

    fn leave_out(&mut self, tool: &str, reason: String) {
        let (server, tool) = (self.server.to_owned(), crate::clean::clean_text(tool, 128));
        tracing::warn!(server, tool, reason, "a tool of an MCP server is left out");
        self.left_out.push(LeftOut { server, tool, reason });
    }
}

impl ToolRules {
    /// Returns `true` if the application uses the tool with this name at the server.
    pub(super) fn uses(&self, name: &str) -> bool {
        self.only.as_ref().is_none_or(|only| any_matches(only, name))
            && !any_matches(&self.without, name)
    }

    /// Returns the name that models see.
    pub(super) fn model_name(&self, server: &str, name: &str) -> String {
        match self.renamed.get(name) {
            Some(renamed) => model_name(None, renamed),
            None => model_name(self.has_prefix.then_some(server), name),
        }
    }

    fn effect(&self, definition: &Definition) -> Effect {
        let mut configured = self.effects.iter().rev();
        if let Some((_, effect)) = configured.find(|(pattern, _)| pattern.matches(&definition.name))
        {
            return effect.clone();
        }
        match definition.annotations.as_ref().filter(|_| self.trusts_annotations) {
            Some(hints) if hints.read_only_hint == Some(true) => Effect::ReadOnly,
            Some(hints) if hints.idempotent_hint == Some(true) => Effect::Idempotent,
            _ => Effect::AtMostOnce,
        }
    }
}
