//! A client of the HTTP endpoint that sends raw requests, without a network.

use ai_services::mcp::{McpHttpBody, McpHttpService};
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use std::collections::VecDeque;
use tower_service::Service;

pub(crate) struct WebClient {
    service: McpHttpService,
    headers: Vec<(String, String)>,
}

/// An answer: the status, and the messages of its body.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) session: Option<String>,
    body: McpHttpBody,
    rest: String,
    messages: VecDeque<Value>,
}

impl WebClient {
    pub(crate) fn new(service: McpHttpService) -> Self {
        let headers = [
            ("host", "localhost:8000"),
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
        ];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        Self { service, headers }
    }

    /// Returns a client of the same server with a header, which replaces one of this name.
    pub(crate) fn with(&self, name: &str, value: &str) -> Self {
        let mut headers = self.headers.clone();
        headers.retain(|(other, _)| other != name);
        headers.push((name.to_owned(), value.to_owned()));
        Self { service: self.service.clone(), headers }
    }

    pub(crate) async fn send(&self, method: &str, body: impl Into<Bytes>) -> Answer {
        let mut request = Request::builder().method(method).uri("/mcp");
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let request = request.body(Full::new(body.into())).unwrap();
        let response: Response<McpHttpBody> = self.service.clone().call(request).await.unwrap();
        let session = response.headers().get("mcp-session-id");
        let session = session.map(|id| id.to_str().unwrap().to_owned());
        let (status, body) = (response.status(), response.into_body());
        Answer { status, session, body, rest: String::new(), messages: VecDeque::new() }
    }

    pub(crate) async fn post(&self, message: &Value) -> Answer {
        self.send("POST", message.to_string()).await
    }

    /// Sends a request of the stateless revision, with the headers that it demands.
    pub(crate) async fn stateless(&self, message: &Value) -> Answer {
        let method = message["method"].as_str().unwrap();
        let client = self.with("mcp-protocol-version", "2026-07-28").with("mcp-method", method);
        match message["params"]["name"].as_str() {
            Some(name) => client.with("mcp-name", name).post(message).await,
            None => client.post(message).await,
        }
    }

    /// Opens a session, and returns a client that uses it.
    pub(crate) async fn session(&self, capabilities: Value) -> Self {
        let mut answer = self.post(&super::line_client::initialize(capabilities)).await;
        answer.next().await;
        let session = answer.session.expect("a session");
        let client =
            self.with("mcp-session-id", &session).with("mcp-protocol-version", "2025-11-25");
        let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        assert_eq!(client.post(&initialized).await.status, StatusCode::ACCEPTED);
        client
    }
}

impl Answer {
    /// Returns the next message.
    pub(crate) async fn next(&mut self) -> Value {
        self.try_next().await.expect("a message")
    }

    /// Returns the next message, or `None` at the end of the body.
    pub(crate) async fn try_next(&mut self) -> Option<Value> {
        loop {
            if let Some(message) = self.messages.pop_front() {
                return Some(message);
            }
            let Some(frame) = self.body.frame().await else {
                return serde_json::from_str(&std::mem::take(&mut self.rest)).ok();
            };
            let data = frame.unwrap().into_data().unwrap_or_default();
            self.rest.push_str(std::str::from_utf8(&data).unwrap());
            while let Some((line, rest)) = self.rest.split_once('\n') {
                let message =
                    line.strip_prefix("data:").and_then(|text| serde_json::from_str(text).ok());
                self.messages.extend(message);
                self.rest = rest.to_owned();
            }
        }
    }

    /// Returns the text of the body.
    pub(crate) async fn text(self) -> String {
        let bytes = self.body.collect().await.unwrap().to_bytes();
        String::from_utf8(bytes.to_vec()).unwrap()
    }
}
