//! One server, as its tools share it.

use super::connection::Connection;
use super::link::Link;
use super::pins::McpPins;
use super::remote_server::RemoteServer;
use ai_services_core::Result;
use rmcp::model::Tool;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use tokio::sync::Semaphore;

/// The link to one server, and the limit of its calls.
pub(super) struct Source {
    pub(super) link: Link,
    pub(super) calls: Semaphore,
    pins: Option<Arc<McpPins>>,
    compared: Mutex<Compared>,
}

/// The connection whose tools were compared with their pins, and the tools that differ and must not be called.
#[derive(Default)]
struct Compared {
    connection: Weak<Connection>,
    /// The changes that the server had reported before.
    changes: u64,
    hidden: Arc<BTreeSet<String>>,
}

impl Source {
    pub(super) fn new(server: RemoteServer, pins: Option<Arc<McpPins>>) -> Self {
        let calls = Semaphore::new(server.max_concurrent_calls.min(Semaphore::MAX_PERMITS));
        Self { link: Link::new(server), calls, pins, compared: Mutex::default() }
    }

    /// Compares the tools of a connection with their pins, and returns the tools to hide. `changes` is the number of
    /// [changes](Connection::tool_changes) that the server had reported before it listed them.
    ///
    /// # Errors
    ///
    /// Fails if a tool differs from its pin and [`OnChange::Reject`](super::pins::OnChange::Reject) applies.
    pub(super) fn compare(
        &self,
        connection: &Arc<Connection>,
        changes: u64,
        tools: &[Tool],
    ) -> Result<Arc<BTreeSet<String>>> {
        let Some(pins) = &self.pins else { return Ok(Arc::default()) };
        let server = &self.link.server;
        let hidden = Arc::new(pins.check(&server.name, tools, |name| server.rules.uses(name))?);
        let (connection, known) = (Arc::downgrade(connection), Arc::clone(&hidden));
        let compared = Compared { connection, changes, hidden: known };
        *self.compared.lock().unwrap_or_else(PoisonError::into_inner) = compared;
        Ok(hidden)
    }

    /// Returns `true` if the tool of a connection differs from its pin. Lists the tools if the server has reported a change
    /// since the last listing, or if the connection is another one, which may lead to another version of the server.
    ///
    /// # Errors
    ///
    /// Fails if the tools cannot be listed, or if a tool differs from its pin and
    /// [`OnChange::Reject`](super::pins::OnChange::Reject) applies.
    pub(super) async fn is_hidden(&self, connection: &Arc<Connection>, tool: &str) -> Result<bool> {
        if self.pins.is_none() {
            return Ok(false);
        }
        let changes = connection.tool_changes();
        if let Some(hidden) = self.hidden(connection, changes) {
            return Ok(hidden.contains(tool));
        }
        let server = &self.link.server;
        let listing = connection.list::<Tool>(server.connect_timeout).await;
        let listing =
            listing.map_err(|failure| failure.into_error(&server.name, "list its tools"))?;
        Ok(self.compare(connection, changes, &listing.entries)?.contains(tool))
    }

    /// Returns the tools to hide if the tools of the connection were compared since the last change.
    fn hidden(&self, connection: &Arc<Connection>, changes: u64) -> Option<Arc<BTreeSet<String>>> {
        let compared = self.compared.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same = std::ptr::eq(compared.connection.as_ptr(), Arc::as_ptr(connection));
        (is_same && compared.changes == changes).then(|| Arc::clone(&compared.hidden))
    }
}
