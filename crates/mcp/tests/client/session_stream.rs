//! Questions on the stream of a session, which the client opens beside the calls.

use crate::agent::call;
use crate::scripted_server::tool;
use ai_services::mcp::{ElicitationAnswer, Era, McpTools, RemoteServer};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use futures_util::{StreamExt, stream};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::mpsc;

/// A server with a tool that asks on the stream of the session, if the client has opened it.
#[derive(Clone)]
struct Asking {
    /// How long the server takes to answer the request for the stream.
    delay: Duration,
    stream: Arc<Mutex<Option<mpsc::UnboundedSender<String>>>>,
    answers: Arc<Mutex<Option<mpsc::UnboundedSender<String>>>>,
}

impl Asking {
    async fn open_stream(State(server): State<Self>) -> Response {
        tokio::time::sleep(server.delay).await;
        let (sender, receiver) = mpsc::unbounded_channel::<String>();
        *server.stream.lock().unwrap() = Some(sender);
        let events = stream::unfold(receiver, |mut receiver| async {
            let event = receiver.recv().await?;
            Some((Ok::<_, std::convert::Infallible>(format!("data: {event}\n\n")), receiver))
        });
        let body = Body::from_stream(events.chain(stream::pending()));
        Response::builder().header("content-type", "text/event-stream").body(body).unwrap()
    }

    async fn receive(State(server): State<Self>, body: Bytes) -> Response {
        let message: Value = serde_json::from_slice(&body).unwrap();
        let result = match message["method"].as_str() {
            Some("initialize") => json!({
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "asking", "version": "1"},
            }),
            Some("tools/list") => json!({"tools": [tool("book")]}),
            Some("tools/call") => {
                let text = server.ask().await;
                json!({"content": [{"type": "text", "text": text}]})
            }
            _ => {
                if let (None, Some(waiting)) =
                    (message.get("method"), &*server.answers.lock().unwrap())
                {
                    waiting.send(message["result"]["action"].to_string()).unwrap();
                }
                return Response::builder().status(202).body(Body::empty()).unwrap();
            }
        };
        let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
        let response = Response::builder().header("content-type", "application/json");
        response.header("mcp-session-id", "one").body(answer.to_string().into()).unwrap()
    }

    /// Returns the action of the user. A server cannot ask a client that does not listen.
    async fn ask(&self) -> String {
        let (sender, mut answers) = mpsc::unbounded_channel();
        *self.answers.lock().unwrap() = Some(sender);
        let params =
            json!({"message": "Sure?", "requestedSchema": {"type": "object", "properties": {}}});
        let question =
            json!({"jsonrpc": "2.0", "id": 1, "method": "elicitation/create", "params": params});
        match &*self.stream.lock().unwrap() {
            Some(stream) => stream.send(question.to_string()).unwrap(),
            None => return "nobody listens".to_owned(),
        }
        answers.recv().await.unwrap()
    }
}

/// Returns what the tool of a server says at once after the connection.
async fn said(delay: Duration) -> String {
    let server = Asking { delay, stream: Arc::default(), answers: Arc::default() };
    let routes = Router::new().route("/", get(Asking::open_stream).post(Asking::receive));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    #[allow(clippy::disallowed_methods, reason = "a test server runs beside its test")]
    let serving =
        tokio::spawn(async move { axum::serve(listener, routes.with_state(server)).await });
    let remote = RemoteServer::http("s", url).era(Era::Legacy);
    let remote =
        remote.on_elicitation(|_| async { ElicitationAnswer::Accept(json!({"seat": "7A"})) });
    let tools = McpTools::builder().server(remote).build().await.unwrap();
    let said = call(&tools, "s__book", "{}").await.text().to_owned();
    serving.abort();
    said
}

#[tokio::test]
async fn first_call_is_asked_about_on_a_stream_that_opens_slowly() {
    assert_eq!(said(Duration::from_millis(300)).await, r#""accept""#);
}

#[tokio::test]
async fn stream_that_never_opens_does_not_stop_calls() {
    assert_eq!(said(Duration::from_hours(1)).await, "nobody listens");
}
