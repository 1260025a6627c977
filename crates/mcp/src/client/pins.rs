//! Pinned definitions of tools.

use crate::definition::digest;
use ai_services_core::{Error, ErrorKind, Result};
use rmcp::model::Tool;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Pinned definitions of the tools of MCP servers, in a file.
///
/// A server can change its tools after the application has accepted them. With pins, the definitions of the first
/// connection are the accepted ones: name, title, description, both schemas and annotations of each tool, and the set
/// of tools. They are compared after each listing.
///
/// The first connection to a server writes its digests to the file; review the tools before, for example with
/// [`McpTools::tools`](super::McpTools::tools), and keep the file under version control. To accept a change, delete
/// the server's entry. A file that cannot be read or written is an error (fail closed).
///
/// Tools that [`only`](super::RemoteServer::only) or [`without`](super::RemoteServer::without) leave out are not
/// compared. A changed filter is not a changed tool.
///
/// # Examples
///
/// ```
/// use ai_services::mcp::{McpPins, McpTools, OnChange};
///
/// let pins = McpPins::file("mcp-pins.json").on_change(OnChange::Hide);
/// let builder = McpTools::builder().pins(pins);
/// # let _ = builder;
/// ```
#[derive(Debug)]
#[must_use]
pub struct McpPins {
    path: PathBuf,
    on_change: OnChange,
    writing: Mutex<()>,
}

/// The reaction to a tool that differs from its pin, is not pinned, or is pinned and missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnChange {
    /// Building fails, and later each service call that selects tools.
    #[default]
    Reject,
    /// Changed and new tools are left out.
    Hide,
    /// The change is logged, and the tools are used.
    Warn,
}

/// A tool that differs from its pin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Changed,
    New,
    Removed,
}

/// The contents of the file.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct PinFile {
    version: u32,
    /// By server, then by the name of the tool at the server: the digest of the definition.
    servers: BTreeMap<String, BTreeMap<String, String>>,
}

impl McpPins {
    /// Uses the pins in this file. It is created by the first connection.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), on_change: OnChange::Reject, writing: Mutex::default() }
    }

    /// Sets the reaction to a change. Default: [`OnChange::Reject`].
    pub fn on_change(mut self, on_change: OnChange) -> Self {
        self.on_change = on_change;
        self
    }

    /// Compares the tools of a server with their pins, and returns the tools to hide. Pins the tools of a server that
    /// has no pins.
    pub(super) fn check(
        &self,
        server: &str,
        tools: &[Tool],
        is_used: impl Fn(&str) -> bool,
    ) -> Result<BTreeSet<String>> {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut file = read(&self.path)?;
        let mut found = BTreeMap::new();
        for tool in tools {
            found.insert(tool.name.to_string(), digest(server, tool));
        }
        let Some(pinned) = file.servers.get(server) else {
            file.servers.insert(server.to_owned(), found);
            write(&self.path, &file)?;
            return Ok(BTreeSet::new());
        };
        let changes = changes(pinned, &found);
        let changes: BTreeMap<&str, Change> =
            changes.into_iter().filter(|(name, _)| is_used(name)).collect();
        self.react(server, &changes)
    }

    fn react(&self, server: &str, changes: &BTreeMap<&str, Change>) -> Result<BTreeSet<String>> {
        for (tool, change) in changes {
            tracing::warn!(server, tool, ?change, "a tool of an MCP server differs from its pin");
        }
        match (self.on_change, changes.iter().next()) {
            (_, None) | (OnChange::Warn, _) => Ok(BTreeSet::new()),
            (OnChange::Hide, _) => Ok(changes.keys().map(|name| (*name).to_owned()).collect()),
            (OnChange::Reject, Some((tool, change))) => {
                let change = match change {
                    Change::Changed => "was changed",
                    Change::New => "is new",
                    Change::Removed => "was removed",
                };
                let tool = crate::clean::clean_text(tool, 128);
                let others = changes.len() - 1;
                let message = format!(
                    "tools of MCP server `{server}` differ from {}: `{tool}` {change}, {others} others; review them and delete the entry of the server to accept them",
                    self.path.display()
                );
                Err(Error::configuration(message))
            }
        }
    }
}

/// Returns the differences between the pinned and the found digests.
fn changes<'a>(
    pinned: &'a BTreeMap<String, String>,
    found: &'a BTreeMap<String, String>,
) -> BTreeMap<&'a str, Change> {
    let mut changes = BTreeMap::new();
    for (name, digest) in found {
        match pinned.get(name) {
            None => drop(changes.insert(name.as_str(), Change::New)),
            Some(pin) if pin != digest => drop(changes.insert(name.as_str(), Change::Changed)),
            Some(_) => {}
        }
    }
    for name in pinned.keys().filter(|name| !found.contains_key(*name)) {
        changes.insert(name, Change::Removed);
    }
    changes
}

fn read(path: &Path) -> Result<PinFile> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(PinFile { version: 1, ..PinFile::default() });
        }
        Err(error) => return Err(file_error(path, "read").with_source(error)),
    };
    let file: PinFile =
        serde_json::from_str(&text).map_err(|error| file_error(path, "read").with_source(error))?;
    if file.version == 1 {
        Ok(file)
    } else {
        let message = format!("unknown version {} of the pins in {}", file.version, path.display());
        Err(Error::configuration(message))
    }
}

/// Replaces the file, so that a crash leaves the old or the new one.
fn write(path: &Path, file: &PinFile) -> Result<()> {
    let failed = |error: std::io::Error| file_error(path, "written").with_source(error);
    let text = serde_json::to_string_pretty(file).map_err(|error| failed(error.into()))?;
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(format!(".{}", std::process::id()));
    let mut new = std::fs::File::create(&temporary).map_err(failed)?;
    new.write_all(text.as_bytes()).and_then(|()| new.sync_all()).map_err(failed)?;
    std::fs::rename(&temporary, path).map_err(failed)
}

fn file_error(path: &Path, action: &str) -> Error {
    let message = format!("the pins of MCP servers in {} cannot be {action}", path.display());
    Error::new(ErrorKind::Configuration, message)
}
