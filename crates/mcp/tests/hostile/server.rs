//! The process of a hostile server, over both transports. It is this test program, started again.

use crate::behavior::{Answer, Behavior, Out, answer};
use crate::transport::Transport;
use ai_services::mcp::{Era, RemoteServer};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, ChildStdout, Command, Stdio};

/// The environment variable with a behavior. Without it, the test does nothing.
const BEHAVIOR: &str = "HOSTILE_MCP_SERVER";

/// The environment variable of a server that is reached by HTTP.
const HTTP: &str = "HOSTILE_MCP_SERVER_OVER_HTTP";

/// A server, which ends when it is dropped.
pub(crate) struct HostileServer {
    behavior: Behavior,
    /// The process and the URL of a server that is reached by HTTP. By stdio, each connection starts a process.
    http: Option<HttpProcess>,
}

struct HttpProcess {
    child: Child,
    url: String,
    _output: BufReader<ChildStdout>,
}

impl HostileServer {
    pub(crate) fn start(behavior: Behavior, transport: Transport) -> Self {
        let http = (transport == Transport::Http).then(|| {
            let mut command = Command::new(std::env::current_exe().unwrap());
            command.args(arguments()).env(BEHAVIOR, text(behavior)).env(HTTP, "1");
            let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
            let mut output = BufReader::new(child.stdout.take().unwrap());
            let mut lines = output.by_ref().lines().map_while(Result::ok);
            let url = lines.find(|line| line.starts_with("http://")).unwrap();
            // A test program ends if it cannot write, for example that a test is slow.
            HttpProcess { child, url, _output: output }
        });
        Self { behavior, http }
    }

    pub(crate) fn remote(&self, era: Era) -> RemoteServer {
        let remote = match &self.http {
            Some(process) => RemoteServer::http("s", &process.url),
            None => RemoteServer::stdio("s", std::env::current_exe().unwrap())
                .args(arguments())
                .env(BEHAVIOR, text(self.behavior)),
        };
        remote.era(era)
    }
}

impl Drop for HostileServer {
    fn drop(&mut self) {
        if let Some(HttpProcess { child, .. }) = &mut self.http {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
}

fn arguments() -> [&'static str; 4] {
    ["--exact", "server::serve", "--nocapture", "--quiet"]
}

fn text(behavior: Behavior) -> String {
    serde_json::to_string(&behavior).unwrap()
}

/// The server. Not a test of its own.
#[test]
fn serve() {
    let Some(behavior) = std::env::var_os(BEHAVIOR) else { return };
    let behavior: Behavior = serde_json::from_str(behavior.to_str().unwrap()).unwrap();
    println!();
    if std::env::var_os(HTTP).is_some() {
        serve_http(behavior);
    }
    let mut out = Out { stream: std::io::stdout().lock(), before: "", after: "\n" };
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let message: Value = serde_json::from_str(&line).unwrap();
        // A client that has gone away ends the process.
        if answer(behavior, &message, &mut out).is_err() {
            break;
        }
    }
    std::process::exit(0);
}

fn serve_http(behavior: Behavior) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    println!("http://{}/mcp", listener.local_addr().unwrap());
    for stream in listener.incoming() {
        std::thread::spawn(move || {
            // A client that has gone away is not an error of the test.
            let _ = serve_request(behavior, stream.unwrap());
        });
    }
}

fn serve_request(behavior: Behavior, mut stream: TcpStream) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let (mut line, mut is_post, mut length) = (String::new(), false, 0);
    while reader.read_line(&mut line)? > 2 {
        is_post |= line.starts_with("POST ");
        let lower = line.to_ascii_lowercase();
        if let Some(value) = lower.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        line.clear();
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let message: Value = serde_json::from_slice(&body).unwrap_or_default();
    let no_body = "text/plain\r\ncontent-length: 0";
    let (status, kind) = match (behavior, message["params"]["name"] == "bad") {
        _ if !is_post => ("405 Method Not Allowed", no_body),
        _ if message.get("id").is_none() => ("202 Accepted", no_body),
        (Behavior::HugeBody | Behavior::BodyOfManyValues, true) => ("200 OK", "application/json"),
        (Behavior::HugeError, true) => ("400 Bad Request", "text/plain"),
        _ => ("200 OK", "text/event-stream"),
    };
    let head = "connection: close\r\ncontent-type:";
    write!(stream, "HTTP/1.1 {status}\r\n{head} {kind}\r\n\r\n")?;
    if kind == no_body {
        return Ok(());
    }
    let is_stream = kind == "text/event-stream";
    let (before, after) = if is_stream { ("data: ", "\n\n") } else { ("", "") };
    let mut out = Out { stream: &stream, before, after };
    if answer(behavior, &message, &mut out)? == Answer::None {
        // The connection stays open until the client closes it.
        reader.read_to_end(&mut Vec::new())?;
    }
    Ok(())
}
