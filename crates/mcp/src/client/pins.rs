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
/// of tools. They are compared after each listing. A call first lists the tools again if the server has reported a change
/// or is connected again, and is not sent if its tool differs.
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use proptest::test_runner::{Config, RngAlgorithm, TestRng};
    use serde_json::{Value, json};

    /// Returns the tools of a server.
    fn tools(definitions: &[Value]) -> Vec<Tool> {
        let tool = |definition: &Value| serde_json::from_value(definition.clone()).unwrap();
        definitions.iter().map(tool).collect()
    }

    fn definition(name: &str) -> Value {
        json!({
            "name": name,
            "title": "Title",
            "description": "Reads a file.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "path": { "type": "string", "description": "The path.", "enum": ["a", "b"] },
                    "limit": { "type": "integer", "minimum": 1, "default": 10 },
                },
                "required": ["path"],
            },
            "outputSchema": { "type": "object", "properties": { "text": { "type": "string" } } },
            "annotations": { "title": "Read", "readOnlyHint": true, "destructiveHint": false },
        })
    }

    /// One difference between two definitions, at a JSON pointer.
    #[derive(Clone, Debug)]
    enum Edit {
        Change(String),
        Rename(String),
        Remove(String),
        Add(String),
    }

    /// Returns each difference of one field that a server can send.
    fn edits(value: &Value, at: &str) -> Vec<Edit> {
        let children: Vec<(String, &Value)> = match value {
            Value::Object(map) => map.iter().map(|(name, child)| (name.clone(), child)).collect(),
            Value::Array(items) => {
                items.iter().enumerate().map(|(index, item)| (index.to_string(), item)).collect()
            }
            _ => return vec![Edit::Change(at.to_owned())],
        };
        let mut all = Vec::new();
        // The SDK reads unknown fields only in schemas.
        let is_schema = at.contains("Schema");
        if is_schema {
            all.push(Edit::Add(at.to_owned()));
        }
        for (name, child) in children {
            let at = format!("{at}/{name}");
            all.extend(edits(child, &at));
            // Without these, it is no definition.
            if at != "/name" && at != "/inputSchema" {
                all.push(Edit::Remove(at.clone()));
            }
            if is_schema && value.is_object() {
                all.push(Edit::Rename(at));
            }
        }
        all
    }

    fn edited(mut definition: Value, edit: &Edit, text: &str) -> Value {
        let (Edit::Change(at) | Edit::Rename(at) | Edit::Remove(at) | Edit::Add(at)) = edit;
        let (parent, name) = at.rsplit_once('/').unwrap();
        match edit {
            Edit::Change(at) => {
                let leaf = definition.pointer_mut(at).unwrap();
                *leaf = match leaf {
                    Value::String(old) => format!("{old}{text}").into(),
                    Value::Bool(old) => (!*old).into(),
                    Value::Number(old) => (old.as_u64().unwrap() + 1).into(),
                    other => panic!("{other}"),
                };
            }
            Edit::Add(at) => match definition.pointer_mut(at).unwrap() {
                Value::Object(map) => drop(map.insert(format!("_{text}"), text.into())),
                Value::Array(items) => items.push(text.into()),
                other => panic!("{other}"),
            },
            Edit::Remove(_) => match definition.pointer_mut(parent).unwrap() {
                Value::Object(map) => drop(map.remove(name).unwrap()),
                Value::Array(items) => drop(items.remove(name.parse().unwrap())),
                other => panic!("{other}"),
            },
            Edit::Rename(_) => {
                let map = definition.pointer_mut(parent).unwrap().as_object_mut().unwrap();
                let child = map.remove(name).unwrap();
                map.insert(format!("{name}{text}"), child);
            }
        }
        definition
    }

    /// Writes the same JSON with other spaces, and with the properties in another order.
    fn rewritten(value: &Value, random: &mut impl FnMut(usize) -> usize) -> String {
        let (parts, open, close) = match value {
            Value::Object(map) => {
                let mut left: Vec<_> = map.iter().collect();
                let mut parts = Vec::new();
                while !left.is_empty() {
                    let (name, child) = left.swap_remove(random(left.len()));
                    let space = " ".repeat(random(3));
                    parts.push(format!("{}{space}:{}", json!(name), rewritten(child, random)));
                }
                (parts, '{', '}')
            }
            Value::Array(items) => {
                (items.iter().map(|item| rewritten(item, random)).collect(), '[', ']')
            }
            leaf => return leaf.to_string(),
        };
        let space = ["", " ", "\n", "\t\r\n"][random(4)];
        format!("{open}{space}{}{space}{close}", parts.join(&format!("{space},{space}")))
    }

    fn pinned() -> (tempfile::TempDir, McpPins) {
        let directory = tempfile::tempdir().unwrap();
        let pins = McpPins::file(directory.path().join("pins.json"));
        let accepted = tools(&[definition("read"), definition("write")]);
        assert!(pins.check("s", &accepted, |_| true).unwrap().is_empty());
        (directory, pins)
    }

    #[test]
    fn each_change_of_a_field_is_rejected() {
        let (_directory, pins) = pinned();
        let edits = edits(&definition("read"), "");
        let config = Config::with_cases(1_000);
        proptest!(config, |(edit in prop::sample::select(edits), text in "[a-z \u{200b}]{1,8}")| {
            let changed = edited(definition("read"), &edit, &text);
            prop_assert_ne!(&changed, &definition("read"));
            let listed = tools(&[changed, definition("write")]);
            prop_assert!(pins.check("s", &listed, |_| true).is_err());
        });
    }

    #[test]
    fn order_and_spaces_do_not_matter() {
        let (_directory, pins) = pinned();
        proptest!(Config::with_cases(1_000), |(seed: [u8; 32])| {
            let mut random = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
            let mut random = |below: usize| random.random_range(0..below);
            let mut texts = ["read", "write"].map(|name| rewritten(&definition(name), &mut random));
            texts.swap(0, random(2));
            let listed = texts.map(|text| serde_json::from_str(&text).unwrap());
            prop_assert!(pins.check("s", &listed, |_| true).unwrap().is_empty());
        });
    }

    #[test]
    fn servers_are_pinned_apart() {
        let (_directory, pins) = pinned();
        let other = tools(&[definition("read")]);
        assert!(pins.check("t", &other, |_| true).unwrap().is_empty());
        assert!(pins.check("t", &tools(&[]), |_| true).is_err());
        assert!(pins.check("s", &other, |_| true).is_err());
    }
}
