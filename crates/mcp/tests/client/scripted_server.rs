//! An MCP server over stdio whose behavior is a script. It is this test program, started again.

use ai_services::mcp::{Era, RemoteServer};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The environment variable with the directory of a script. Without it, the test does nothing.
const DIRECTORY: &str = "SCRIPTED_MCP_SERVER";

/// A server that answers as a script says, and a record of the messages that it received.
pub(crate) struct Scripted {
    directory: TempDir,
}

impl Scripted {
    /// `script` has answers by method, by `tools/call NAME`, by `tools/call NAME answered` for a call with answers of the
    /// user, and by `tools/list CURSOR`. Each is the `result` or `error` of the answer, and steps that are taken before,
    /// or a `sequence` of answers, the last of which is repeated.
    pub(crate) fn new(script: Value) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let scripted = Self { directory };
        scripted.replace(&script);
        scripted
    }

    /// Creates a server with these tools, all of which are called `steps`.
    pub(crate) fn with_tools(tools: Value, answers: Value) -> Self {
        let mut script = answers;
        script["tools/list"] = json!({"result": {"tools": tools}});
        Self::new(script)
    }

    /// Replaces the script, also for a running server.
    pub(crate) fn replace(&self, script: &Value) {
        let temporary = self.directory.path().join("new");
        std::fs::write(&temporary, script.to_string()).unwrap();
        std::fs::rename(temporary, self.path("script")).unwrap();
    }

    pub(crate) fn path(&self, file: &str) -> PathBuf {
        self.directory.path().join(file)
    }

    /// Returns the server, with short time limits.
    pub(crate) fn server(&self, name: &str) -> RemoteServer {
        RemoteServer::stdio(name, std::env::current_exe().unwrap())
            .args(["--exact", "scripted_server::serve", "--nocapture", "--quiet"])
            .env(DIRECTORY, self.directory.path())
            .era(Era::Legacy)
            .connect_timeout(Duration::from_secs(20))
    }

    /// Returns the received messages with this method.
    pub(crate) fn received(&self, method: &str) -> Vec<Value> {
        let log = std::fs::read_to_string(self.path("log")).unwrap_or_default();
        let messages = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        messages.filter(|message| message["method"] == method).collect()
    }

    /// Forgets the received messages.
    pub(crate) fn forget(&self) {
        std::fs::write(self.path("log"), "").unwrap();
    }

    /// Waits until a message with this method was received.
    pub(crate) async fn wait_for(&self, method: &str) -> Value {
        until(|| self.received(method).pop()).await
    }
}

/// Polls the file system until there is a value.
pub(crate) async fn until<T>(mut value: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        if let Some(value) = value() {
            return value;
        }
        assert!(Instant::now() < end, "nothing happened within 20 seconds");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

pub(crate) fn tool(name: &str) -> Value {
    json!({"name": name, "description": format!("Does {name}."), "inputSchema": {"type": "object"}})
}

/// Returns the script of a modern server with these tools.
pub(crate) fn modern(tools: Value) -> Value {
    let list = json!({
        "resultType": "complete", "ttlMs": 1_000_000, "cacheScope": "private", "tools": tools,
    });
    let discovered = json!({
        "resultType": "complete", "supportedVersions": ["2026-07-28"],
        "capabilities": {"tools": {}}, "ttlMs": 0, "cacheScope": "private",
    });
    json!({"server/discover": {"result": discovered}, "tools/list": {"result": list}})
}

/// Returns the answer of a modern server to a call.
pub(crate) fn complete(text: &str) -> Value {
    let content = json!([{"type": "text", "text": text}]);
    json!({"result": {"resultType": "complete", "content": content}})
}

pub(crate) fn text(text: &str) -> Value {
    json!({"result": {"content": [{"type": "text", "text": text}]}})
}

/// The server. Not a test of its own.
#[test]
fn serve() {
    let Some(directory) = std::env::var_os(DIRECTORY) else { return };
    println!();
    std::fs::write(Path::new(&directory).join("pid"), std::process::id().to_string()).unwrap();
    let (directory, counts) = (directory.into(), HashMap::new());
    let mut server = Server { directory, pages: 0, subscription: Value::Null, counts };
    let mut lines = std::io::stdin().lock().lines();
    while let Some(Ok(line)) = lines.next() {
        server.log(&line);
        let message: Value = serde_json::from_str(&line).unwrap();
        if message.get("method").is_some() {
            server.handle(&message, &mut lines);
        }
    }
    std::process::exit(0);
}

struct Server {
    directory: PathBuf,
    pages: usize,
    /// The id of the request for notices.
    subscription: Value,
    /// The number of answers of each sequence.
    counts: HashMap<String, usize>,
}

impl Server {
    fn log(&self, line: &str) {
        let log = self.directory.join("log");
        let mut log = std::fs::OpenOptions::new().create(true).append(true).open(log).unwrap();
        writeln!(log, "{line}").unwrap();
    }

    fn handle(
        &mut self,
        message: &Value,
        lines: &mut impl Iterator<Item = std::io::Result<String>>,
    ) {
        let method = message["method"].as_str().unwrap();
        let script = std::fs::read_to_string(self.directory.join("script")).unwrap();
        let script: Value = serde_json::from_str(&script).unwrap();
        let params = &message["params"];
        let detail = params["name"].as_str().or(params["cursor"].as_str()).unwrap_or_default();
        let answered = params.get("inputResponses").map(|_| format!("{method} {detail} answered"));
        let mut keys =
            answered.into_iter().chain([format!("{method} {detail}"), method.to_owned()]);
        let answer = keys.find_map(|key| script.get(key)).cloned();
        let mut answer = answer.unwrap_or_else(|| default_answer(method));
        if let Some(sequence) = answer["sequence"].as_array() {
            let count = self.counts.entry(method.to_owned()).or_default();
            let next = sequence[(*count).min(sequence.len() - 1)].clone();
            *count += 1;
            answer = next;
        }
        for step in answer["steps"].as_array().into_iter().flatten() {
            self.step(step, message, lines);
        }
        let Some(id) = message.get("id") else { return };
        for part in ["result", "error"] {
            if let Some(content) = answer.get(part) {
                send(&json!({"jsonrpc": "2.0", "id": id, part: content}));
            }
        }
    }

    fn step(
        &mut self,
        step: &Value,
        message: &Value,
        lines: &mut impl Iterator<Item = std::io::Result<String>>,
    ) {
        let (kind, value) = step.as_object().unwrap().iter().next().unwrap();
        match kind.as_str() {
            "send" => send(value),
            "raw" => {
                let mut out = std::io::stdout().lock();
                writeln!(out, "{}", value.as_str().unwrap()).unwrap();
                out.flush().unwrap();
            }
            "progress" => {
                let token = &message["params"]["_meta"]["progressToken"];
                let params = json!({"progressToken": token, "progress": value});
                send(
                    &json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}),
                );
            }
            // Ends in the middle of the answer, after as many bytes as the call says.
            "cut" => {
                let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": value});
                let bytes = message["params"]["arguments"]["cut"].as_u64().unwrap();
                let line = format!("{answer}\n");
                let start = &line.as_bytes()[..line.len().min(usize::try_from(bytes).unwrap())];
                let mut out = std::io::stdout().lock();
                let _ = out.write_all(start).and_then(|()| out.flush());
                std::process::exit(1);
            }
            "acknowledge" => {
                self.subscription = message["id"].clone();
                self.notify("subscriptions/acknowledged", json!({"notifications": value}));
            }
            "notify" => self.notify(value.as_str().unwrap(), json!({})),
            // Reads the answer to a request that was sent before.
            "read" => {
                let line = lines.next().unwrap().unwrap();
                self.log(&line);
            }
            "page" => {
                self.pages += 1;
                let result = json!({"tools": [], "nextCursor": self.pages.to_string()});
                send(&json!({"jsonrpc": "2.0", "id": message["id"], "result": result}));
            }
            _ => self.step_of_the_process(kind, value),
        }
    }
}

impl Server {
    fn step_of_the_process(&self, kind: &str, value: &Value) {
        match kind {
            "exit" => std::process::exit(1),
            "stderr" => {
                let mut out = std::io::stderr().lock();
                writeln!(out, "{}", value.as_str().unwrap()).unwrap();
            }
            "await_file" => {
                let file = self.directory.join(value.as_str().unwrap());
                while !file.exists() {
                    std::thread::sleep(Duration::from_millis(2));
                }
            }
            "spawn" => {
                let mut child = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
                std::fs::write(self.directory.join("grandchild"), child.id().to_string()).unwrap();
                std::thread::spawn(move || child.wait());
            }
            "environment" => {
                let names: Vec<_> = std::env::vars().map(|(name, _)| name).collect();
                std::fs::write(self.directory.join("environment"), names.join("\n")).unwrap();
            }
            other => panic!("unknown step {other}"),
        }
    }

    /// Sends a notification to the subscriber.
    fn notify(&self, method: &str, mut params: Value) {
        params["_meta"] = json!({"io.modelcontextprotocol/subscriptionId": self.subscription});
        let method = format!("notifications/{method}");
        send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }
}

fn default_answer(method: &str) -> Value {
    match method {
        "initialize" => json!({"result": {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {"listChanged": true}, "resources": {}, "prompts": {}},
            "serverInfo": {"name": "scripted", "version": "1"},
        }}),
        "tools/list" => json!({"result": {"tools": []}}),
        _ => json!({"error": {"code": -32601, "message": "unknown method"}}),
    }
}

fn send(message: &Value) {
    let mut out = std::io::stdout().lock();
    // A client that has gone away is not an error of the test.
    let _ = writeln!(out, "{message}").and_then(|()| out.flush());
}
