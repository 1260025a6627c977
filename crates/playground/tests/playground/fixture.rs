//! A playground with two services, and a client that writes its requests itself.

use ai_services::memory::{InMemoryChatMemoryStore, MemoryId, MessageWindowChatMemory};
use ai_services::playground::Playground;
use ai_services::providers::openai::OpenAiChatModel;
use ai_services::{AiService, AnswerStream, DurableTurns, ai_service, tool};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

#[ai_service]
#[system_message("Answer briefly.")]
pub(crate) trait Support {
    fn chat(
        &self,
        #[memory_id] conversation: &MemoryId,
        #[user_message] text: &str,
    ) -> AnswerStream;
}

/// Returns the state of an order.
#[tool(read_only)]
pub(crate) fn state(order: &str) -> String {
    format!("order {order} is \"on its way\"")
}

/// Refunds an order.
#[tool(requires_approval)]
pub(crate) fn refund(order: &str) -> String {
    format!("refunded {order}")
}

pub(crate) type Bodies = Arc<Mutex<Vec<String>>>;

/// A provider: it streams a fixed answer, and records the bodies that it receives.
async fn provider() -> (SocketAddr, Bodies) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let bodies = Bodies::default();
    let received = Arc::clone(&bodies);
    tokio::spawn(async move {
        while let Ok((mut connection, _)) = listener.accept().await {
            let received = Arc::clone(&received);
            tokio::spawn(async move {
                let body = read_request(&mut connection).await;
                let answer = answer(&body);
                let is_held = body.contains("Hold.");
                received.lock().unwrap().push(body);
                if is_held {
                    // Until the client is gone.
                    drop(connection.read(&mut [0]).await);
                    return;
                }
                let status = if answer.starts_with("data") { "200 OK" } else { "400 Bad Request" };
                let head = "content-type: text/event-stream\r\nconnection: close\r\n\r\n";
                connection
                    .write_all(format!("HTTP/1.1 {status}\r\n{head}{answer}").as_bytes())
                    .await
                    .unwrap();
                connection.shutdown().await.unwrap();
            });
        }
    });
    (address, bodies)
}

/// Calls a tool if the last message asks for a refund or for a state.
fn answer(body: &str) -> String {
    let request: Value = serde_json::from_str(body).unwrap();
    let last = request["messages"].as_array().unwrap().last().unwrap();
    if last["content"] == "Fail." {
        return json!({ "error": { "message": "no such \"model\"" } }).to_string();
    }
    let tool = match last["content"].as_str() {
        Some("Refund it.") => Some("refund"),
        Some("Where is it?") => Some("state"),
        _ => None,
    };
    let delta = if let Some(name) = tool.filter(|_| last["role"] == "user") {
        let function = json!({ "name": name, "arguments": "{\"order\":\"7\"}" });
        json!({ "tool_calls": [{ "index": 0, "id": "call_1", "type": "function", "function": function }] })
    } else {
        json!({ "content": "Done." })
    };
    let piece = json!({ "choices": [{ "index": 0, "delta": delta }] });
    let end = json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }] });
    format!("data: {piece}\n\ndata: {end}\n\ndata: [DONE]\n\n")
}

/// Reads a request whose length is given, and returns its body.
async fn read_request(connection: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    loop {
        connection.read_buf(&mut bytes).await.unwrap();
        let text = String::from_utf8_lossy(&bytes);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let head = head.to_ascii_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length:")).unwrap();
        if body.len() >= length.trim().parse::<usize>().unwrap() {
            return body.to_owned();
        }
    }
}

pub(crate) struct Fixture {
    pub(crate) address: SocketAddr,
    pub(crate) token: String,
    pub(crate) store: InMemoryChatMemoryStore,
    /// The bodies that the provider has received.
    pub(crate) bodies: Bodies,
}

pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Fixture {
    pub(crate) async fn start() -> Self {
        Self::start_with(InMemoryChatMemoryStore::new()).await
    }

    /// Starts a playground whose store has conversations.
    pub(crate) async fn start_with(store: InMemoryChatMemoryStore) -> Self {
        let (provider, bodies) = provider().await;
        let model = OpenAiChatModel::builder()
            .base_url(format!("http://{provider}/v1"))
            .api_key("key")
            .model("test")
            .build()
            .unwrap();
        let memories = store.clone();
        let playground = Playground::new();
        let support = SupportService::builder()
            .chat_model(model)
            .tools(vec![refund::tool(), state::tool()])
            .chat_memory_provider(move |id: &MemoryId| {
                let memory = MessageWindowChatMemory::builder().id(id).max_messages(20);
                memory.store(memories.clone()).build()
            })
            .durable_turns(DurableTurns::new())
            .listener(playground.listener())
            .build()
            .unwrap();
        let turns = AiService::clone(&support);
        let server = playground
            .service("support", move |turn| support.chat(turn.memory_id(), turn.text()))
            .decisions("support", turns)
            .store(store.clone())
            .bind(([127, 0, 0, 1], 0))
            .await
            .unwrap();
        let token = server.url().rsplit_once('#').unwrap().1.to_owned();
        let address = server.local_addr();
        tokio::spawn(server.serve(std::future::pending()));
        Self { address, token, store, bodies }
    }

    /// Sends a request as it is.
    pub(crate) async fn raw(&self, request: &str) -> Answer {
        let mut connection = TcpStream::connect(self.address).await.unwrap();
        connection.write_all(request.as_bytes()).await.unwrap();
        let mut text = String::new();
        connection.read_to_string(&mut text).await.unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let head = head.to_ascii_lowercase();
        let is_chunked = head.contains("transfer-encoding: chunked");
        let body = if is_chunked { dechunked(body) } else { body.to_owned() };
        Answer { status, head, body }
    }

    /// Sends a request of the page.
    pub(crate) async fn send(&self, method: &str, path: &str, body: &str) -> Answer {
        self.raw(&self.request(method, path, body)).await
    }

    fn request(&self, method: &str, path: &str, body: &str) -> String {
        let Self { address, token, .. } = self;
        format!(
            "{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\norigin: http://{address}\r\n\
             sec-fetch-site: same-origin\r\nx-playground-token: {token}\r\nx-playground-user: ann\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )
    }

    /// Returns the newest turn in the forms that a test can use.
    pub(crate) async fn export(&self) -> Value {
        let turns = self.json("GET", "/api/turns").await;
        let id = turns[0]["id"].as_str().unwrap();
        self.json("GET", &format!("/api/turns/{id}/export")).await
    }

    pub(crate) async fn json(&self, method: &str, path: &str) -> Value {
        let answer = self.send(method, path, "").await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        serde_json::from_str(&answer.body).unwrap()
    }

    /// Runs a turn, and returns its events.
    pub(crate) async fn chat(&self, conversation: &str, text: &str, resume: Value) -> Vec<Value> {
        let request = self.run_request(conversation, text, &resume);
        events(&self.raw(&request).await)
    }

    /// Begins a turn, and closes the connection when the provider has received the request. Returns when the turn has
    /// ended.
    pub(crate) async fn abandon(&self, conversation: &str, text: &str) {
        let request = self.run_request(conversation, text, &Value::Null);
        let mut connection = TcpStream::connect(self.address).await.unwrap();
        connection.write_all(request.as_bytes()).await.unwrap();
        while self.bodies.lock().unwrap().is_empty() {
            self.json("GET", "/api/info").await;
        }
        drop(connection);
        while self.json("GET", "/api/turns").await == json!([]) {}
    }

    /// Returns the events that show the calls that wait.
    pub(crate) async fn pending(&self, conversation: &str) -> Vec<Value> {
        let request = self.run_request(conversation, "pending", &Value::Null);
        let marked = request.replacen("\r\n", "\r\nx-playground-pending: 1\r\n", 1);
        events(&self.raw(&marked).await)
    }

    fn run_request(&self, conversation: &str, text: &str, resume: &Value) -> String {
        let message = json!({ "id": "1", "role": "user", "content": text });
        let input = json!({
            "threadId": conversation, "runId": "1", "messages": [message], "resume": resume,
            "state": {}, "tools": [], "context": [], "forwardedProps": {},
        });
        self.request("POST", "/ag-ui/support", &input.to_string())
    }
}

fn events(answer: &Answer) -> Vec<Value> {
    assert_eq!(answer.status, 200, "{}", answer.body);
    let data = answer.body.lines().filter_map(|line| line.strip_prefix("data: "));
    data.map(|data| serde_json::from_str(data).unwrap()).collect()
}

fn dechunked(mut body: &str) -> String {
    let mut text = String::new();
    while let Some((size, rest)) = body.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap();
        if size == 0 {
            break;
        }
        text.push_str(&rest[..size]);
        body = &rest[size + 2..];
    }
    text
}
