//! A scripted HTTP server.

use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// The answer to a request.
pub(crate) enum Answer {
    /// A JSON-RPC result.
    Result(Value),
    /// A status without a body.
    Status(&'static str),
    /// The connection is closed after this many bytes of the answer of a tool, and before its last byte.
    Cut(usize),
    /// The connection is closed after this many bytes of the answer of a tool, which is a stream of events.
    CutStream(usize),
}

type Script = dyn Fn(&Value) -> Answer + Send + Sync;

/// A request that the server received.
#[derive(Clone, Debug)]
pub(crate) struct Received {
    pub(crate) headers: HashMap<String, String>,
    pub(crate) message: Value,
}

pub(crate) struct HttpServer {
    pub(crate) url: String,
    pub(crate) received: Arc<Mutex<Vec<Received>>>,
    accepting: JoinHandle<()>,
}

impl HttpServer {
    pub(crate) async fn new(script: impl Fn(&Value) -> Answer + Send + Sync + 'static) -> Self {
        Self::at(TcpListener::bind("127.0.0.1:0").await.unwrap(), script)
    }

    pub(crate) fn at(
        listener: TcpListener,
        script: impl Fn(&Value) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let received = Arc::new(Mutex::new(Vec::new()));
        let (script, record): (Arc<Script>, _) = (Arc::new(script), Arc::clone(&received));
        #[allow(clippy::disallowed_methods, reason = "a test server runs beside its test")]
        let accepting = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let (script, record) = (Arc::clone(&script), Arc::clone(&record));
                tokio::spawn(async move {
                    // A client that has gone away is not an error of the test.
                    let _ = serve(stream, &*script, &record).await;
                });
            }
        });
        Self { url, received, accepting }
    }

    pub(crate) fn calls(&self) -> Vec<Received> {
        let received = self.received.lock().unwrap();
        received
            .iter()
            .filter(|request| request.message["method"] == "tools/call")
            .cloned()
            .collect()
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn serve(
    stream: TcpStream,
    script: &Script,
    record: &Mutex<Vec<Received>>,
) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    loop {
        let mut headers = HashMap::new();
        let mut line = String::new();
        stream.read_line(&mut line).await?;
        let is_post = line.starts_with("POST");
        loop {
            line.clear();
            if stream.read_line(&mut line).await? == 0 {
                return Ok(());
            }
            let Some((name, value)) = line.trim().split_once(": ") else { break };
            headers.insert(name.to_ascii_lowercase(), value.to_owned());
        }
        let length = headers.get("content-length").map_or(0, |length| length.parse().unwrap());
        let mut body = vec![0; length];
        stream.read_exact(&mut body).await?;
        let (status, body) = if is_post {
            let message: Value = serde_json::from_slice(&body).unwrap();
            record.lock().unwrap().push(Received { headers, message: message.clone() });
            match (message.get("id"), script(&message)) {
                (None, _) => ("202 Accepted", String::new()),
                (Some(id), Answer::Cut(bytes)) => {
                    let body = done(id);
                    let answer = format!("{}{body}", head("200 OK", body.len()));
                    return stream.write_all(start(&answer, bytes.min(answer.len() - 1))).await;
                }
                (Some(id), Answer::CutStream(bytes)) => {
                    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
                    let answer = format!("{head}data: {}\n\n", done(id));
                    return stream.write_all(start(&answer, bytes)).await;
                }
                (_, Answer::Status(status)) => (status, String::new()),
                (Some(id), Answer::Result(result)) => {
                    ("200 OK", json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string())
                }
            }
        } else {
            ("405 Method Not Allowed", String::new())
        };
        stream.write_all(head(status, body.len()).as_bytes()).await?;
        stream.write_all(body.as_bytes()).await?;
    }
}

fn done(id: &Value) -> String {
    let result = json!({"content": [{"type": "text", "text": "done"}]});
    json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string()
}

fn start(answer: &str, bytes: usize) -> &[u8] {
    &answer.as_bytes()[..bytes.min(answer.len())]
}

fn head(status: &str, length: usize) -> String {
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n"
    )
}
