//! A client of stdio that sends and reads raw lines.

use ai_services::mcp::McpServer;
use serde_json::{Value, json};
use std::future::Future;
use tokio::io::{
    AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf,
};

/// The `_meta` of requests of the stateless revision.
pub(crate) fn stateless(capabilities: Value) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    })
}

pub(crate) fn request(id: u32, method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

/// A call of a tool in the stateless revision.
pub(crate) fn stateless_call(id: u32, tool: &str, arguments: Value) -> Value {
    let meta = stateless(json!({}));
    request(id, "tools/call", json!({ "name": tool, "arguments": arguments, "_meta": meta }))
}

pub(crate) fn initialize(capabilities: Value) -> Value {
    let client = json!({ "name": "test", "version": "1" });
    let version = "2025-11-25";
    let params =
        json!({ "protocolVersion": version, "capabilities": capabilities, "clientInfo": client });
    request(0, "initialize", params)
}

pub(crate) struct LineClient {
    reader: Lines<BufReader<ReadHalf<DuplexStream>>>,
    writer: WriteHalf<DuplexStream>,
}

/// Runs a client against a server in the same task.
pub(crate) async fn connected<T, F>(server: McpServer, test: impl FnOnce(LineClient) -> F) -> T
where
    F: Future<Output = T>,
{
    let (client, own) = tokio::io::duplex(1 << 16);
    let (reader, writer) = tokio::io::split(own);
    let (own_reader, own_writer) = tokio::io::split(client);
    let client = LineClient { reader: BufReader::new(own_reader).lines(), writer: own_writer };
    let test = test(client);
    let serving = async {
        server.serve(reader, writer).await.unwrap();
        std::future::pending::<()>().await;
    };
    tokio::select! {
        outcome = test => outcome,
        () = serving => unreachable!("waits for ever"),
    }
}

impl LineClient {
    pub(crate) async fn send(&mut self, message: &Value) {
        self.send_line(&message.to_string()).await;
    }

    pub(crate) async fn send_line(&mut self, line: &str) {
        self.writer.write_all(line.as_bytes()).await.unwrap();
        self.writer.write_all(b"\n").await.unwrap();
    }

    /// Returns the next message.
    pub(crate) async fn next(&mut self) -> Value {
        let line = self.reader.next_line().await.unwrap().expect("the connection is open");
        serde_json::from_str(&line).unwrap()
    }

    /// Sends a request and returns the next message.
    pub(crate) async fn ask(&mut self, message: &Value) -> Value {
        self.send(message).await;
        self.next().await
    }

    /// Performs the handshake of earlier revisions, and returns the answer to it.
    pub(crate) async fn handshake(&mut self, capabilities: Value) -> Value {
        let answer = self.ask(&initialize(capabilities)).await;
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
        answer
    }

    /// Calls a tool in an earlier revision, and returns its result.
    pub(crate) async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let params = json!({ "name": tool, "arguments": arguments });
        self.ask(&request(1, "tools/call", params)).await["result"].take()
    }
}
