//! A web service: an answer as JSON, an answer as server-sent events, and a memory for each user.
//!
//! Without arguments, the example sends one request to itself and ends. With an address it serves until Ctrl-C:
//!
//! ```sh
//! cargo run -p ai-services-examples --example axum -- 127.0.0.1:3000
//! curl -H 'authorization: Bearer ann-token' --json '{"message": "Hello!"}' http://127.0.0.1:3000/chat
//! curl -NH 'authorization: Bearer ann-token' --json '{"message": "Hello!"}' http://127.0.0.1:3000/chat/stream
//! ```
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "examples print their results")]

use ai_services::memory::{MemoryId, MessageWindowChatMemory};
use ai_services::message::ChatMessage;
use ai_services::model::{ChatModel, ChatRequest};
use ai_services::providers::http_client_builder;
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use ai_services::{
    AnswerStream, ConcurrentCalls, Error, Response, Result, StreamEvent, ai_service,
};
use axum::extract::{DefaultBodyLimit, FromRequestParts, State};
use axum::http::{StatusCode, header, request::Parts};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response as HttpResponse};
use axum::routing::post;
use axum::serve::ListenerExt;
use axum::{Json, Router};
use futures_util::stream::{self, Stream, StreamExt};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::future::ready;
use std::sync::Arc;
use tokio::net::TcpListener;

/// Largest size of a request body. Axum's default is 2 MB, far more than a chat message.
const MAX_BODY_BYTES: usize = 16 * 1024;

#[ai_service]
#[system_message("Answer briefly.")]
trait Assistant {
    async fn chat(
        &self,
        #[memory_id] user: &str,
        #[user_message] text: &str,
    ) -> Result<Response<String>>;

    fn stream(&self, #[memory_id] user: &str, #[user_message] text: &str) -> AnswerStream;
}

/// The state of the server. The service is cheap to clone.
#[derive(Clone)]
struct App {
    assistant: AssistantService,
    /// Users by their token.
    tokens: Arc<HashMap<&'static str, &'static str>>,
}

impl App {
    fn new(model: impl ChatModel + 'static) -> Result<Self> {
        let assistant = AssistantService::builder()
            .chat_model(model)
            .chat_memory_provider(|user: &MemoryId| {
                // With `.store(…)` the conversations survive a restart.
                MessageWindowChatMemory::builder().id(user).max_messages(20).build()
            })
            .max_kept_memories(10_000)
            // A second request of a user fails with status 409 while the first one runs. By default it waits.
            .concurrent_calls(ConcurrentCalls::Reject)
            .build()?;
        let tokens = HashMap::from([("ann-token", "ann"), ("ben-token", "ben")]);
        Ok(Self { assistant, tokens: Arc::new(tokens) })
    }
}

fn router(app: App) -> Router {
    Router::new()
        .route("/chat", post(chat))
        .route("/chat/stream", post(stream_chat))
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        .with_state(app)
}

#[derive(Deserialize)]
struct Question {
    message: String,
}

#[derive(Serialize)]
struct Answer {
    answer: String,
    tokens: Option<u64>,
}

async fn chat(
    State(app): State<App>,
    user: User,
    Json(question): Json<Question>,
) -> Result<Json<Answer>, ApiError> {
    let response = app.assistant.chat(&user.0, &question.message).await?;
    Ok(Json(Answer { tokens: response.token_usage.total(), answer: response.value }))
}

/// Streams the answer. If the client disconnects, axum drops the stream, which cancels the call.
async fn stream_chat(
    State(app): State<App>,
    user: User,
    Json(question): Json<Question>,
) -> Result<Sse<impl Stream<Item = Result<Event, axum::Error>>>, ApiError> {
    let mut answer = app.assistant.stream(&user.0, &question.message);
    // An error before the first event still gets a status of its own.
    let first = answer.next().await.transpose()?;
    let events = stream::iter(first.map(Ok)).chain(answer).filter_map(|event| ready(to_sse(event)));
    Ok(Sse::new(events).keep_alive(KeepAlive::default()))
}

/// Returns the event for the client. The data is JSON, because it must not contain carriage returns.
fn to_sse(event: Result<StreamEvent>) -> Option<Result<Event, axum::Error>> {
    match event {
        Ok(StreamEvent::Text(text)) => Some(Event::default().event("text").json_data(text)),
        Ok(StreamEvent::Completed(response)) => {
            Some(Event::default().event("done").json_data(response.token_usage.total()))
        }
        Ok(_) => None,
        Err(error) => Some(Event::default().event("error").json_data(ApiError(error).body())),
    }
}

/// The authenticated user, and so the memory id. Never read the id from the body of a request: everybody could
/// then read every conversation.
///
/// The table of tokens stands in for sessions or signed tokens.
struct User(String);

impl FromRequestParts<App> for User {
    type Rejection = StatusCode;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, StatusCode> {
        let header = parts.headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let token = header.and_then(|value| value.strip_prefix("Bearer "));
        let user = token.and_then(|token| app.tokens.get(token));
        user.map(|user| Self((*user).to_owned())).ok_or(StatusCode::UNAUTHORIZED)
    }
}

/// An error of the service as an answer of the server.
struct ApiError(Error);

#[derive(Serialize)]
struct ErrorBody {
    error: &'static str,
    /// Set if the same request may succeed later.
    is_retryable: bool,
}

impl ApiError {
    fn status(&self) -> StatusCode {
        let status = StatusCode::from_u16(self.0.kind().http_status());
        status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    /// Returns the body without the text of the error, which can describe the server's configuration.
    fn body(&self) -> ErrorBody {
        let error = self.status().canonical_reason().unwrap_or("error");
        ErrorBody { error, is_retryable: self.0.is_retryable() }
    }
}

impl From<Error> for ApiError {
    fn from(error: Error) -> Self {
        eprintln!("a call failed: {:?} {}", error.kind(), error.code().unwrap_or_default());
        Self(error)
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> HttpResponse {
        let mut response = (self.status(), Json(self.body())).into_response();
        if let Some(wait) = self.0.retry_after() {
            let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
            response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
        }
        response
    }
}

/// Answers with all user messages of the request. A server uses a client such as `OpenAiChatModel::from_env()?`.
fn demonstration_model() -> ScriptedChatModel {
    ScriptedChatModel::from_fn(|_, request: &ChatRequest| {
        let earlier = request.messages().filter(|message| message.is_user());
        let texts: Vec<&str> = earlier.filter_map(ChatMessage::text).collect();
        ScriptedAnswer::text(format!("I have heard: {}", texts.join(" | "))).chunked(8)
    })
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let router = router(App::new(demonstration_model())?);
    let Some(address) = std::env::args().nth(1) else { return demonstrate(router).await };
    let listener = TcpListener::bind(&address).await?;
    println!("listening on http://{}", listener.local_addr()?);
    // Sends each piece at once. A connection works without the option, too.
    let listener = listener.tap_io(|connection| drop(connection.set_nodelay(true)));
    let stop = async { drop(tokio::signal::ctrl_c().await) };
    Ok(axum::serve(listener, router).with_graceful_shutdown(stop).await?)
}

/// Serves on a free port and sends one request to itself.
async fn demonstrate(router: Router) -> anyhow::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/chat/stream", listener.local_addr()?);
    let request = http_client_builder()?
        .no_proxy()
        .build()?
        .post(url)
        .header(header::AUTHORIZATION, "Bearer ann-token")
        .header(header::CONTENT_TYPE, "application/json")
        .body(r#"{"message": "Hello!"}"#);
    let exchange = async {
        let response = request.send().await?;
        println!("{}\n{}", response.status(), response.text().await?);
        anyhow::Ok(())
    };
    tokio::select! {
        stopped = axum::serve(listener, router).into_future() => Ok(stopped?),
        result = exchange => result,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ai_services::ErrorKind;
    use axum::body::{Body, to_bytes};
    use axum::http::{HeaderMap, Request};
    use std::time::Duration;
    use tower::ServiceExt;

    struct Reply {
        status: StatusCode,
        headers: HeaderMap,
        body: String,
    }

    fn server(model: &ScriptedChatModel) -> Router {
        router(App::new(model.clone()).unwrap())
    }

    /// Sends a request to the router, without a socket.
    async fn send(server: &Router, path: &str, token: &str, message: &str) -> Reply {
        let request = Request::post(path)
            .header(header::AUTHORIZATION, format!("Bearer {token}"))
            .header(header::CONTENT_TYPE, "application/json")
            .body(Body::from(serde_json::json!({ "message": message }).to_string()))
            .unwrap();
        let (parts, body) = server.clone().oneshot(request).await.unwrap().into_parts();
        let body = to_bytes(body, usize::MAX).await.unwrap().to_vec();
        let body = String::from_utf8(body).unwrap();
        Reply { status: parts.status, headers: parts.headers, body }
    }

    #[tokio::test]
    async fn answer_is_json() {
        let model = ScriptedChatModel::replies(["Hello Ann."]);
        let reply = send(&server(&model), "/chat", "ann-token", "I am Ann.").await;
        assert_eq!(reply.status, StatusCode::OK);
        assert_eq!(reply.body, r#"{"answer":"Hello Ann.","tokens":null}"#);
        let sent = [ChatMessage::system("Answer briefly."), ChatMessage::user("I am Ann.")];
        assert_eq!(model.messages_of(0), sent);
    }

    #[tokio::test]
    async fn stream_sends_each_piece_as_an_event() {
        let model = ScriptedChatModel::new([ScriptedAnswer::pieces(["one\r\n", "two"])]);
        let reply = send(&server(&model), "/chat/stream", "ann-token", "Count!").await;
        assert_eq!(reply.status, StatusCode::OK);
        assert_eq!(reply.headers[header::CONTENT_TYPE], "text/event-stream");
        let text = "event: text\ndata: \"one\\r\\n\"\n\nevent: text\ndata: \"two\"\n\n";
        assert_eq!(reply.body, format!("{text}event: done\ndata: null\n\n"));
    }

    #[tokio::test]
    async fn memory_is_separate_per_user() {
        let model = ScriptedChatModel::replies(["Hello.", "Hello.", "You are Ann."]);
        let server = server(&model);
        send(&server, "/chat", "ann-token", "I am Ann.").await;
        send(&server, "/chat", "ben-token", "Who am I?").await;
        send(&server, "/chat/stream", "ann-token", "Who am I?").await;
        assert_eq!(model.messages_of(1).len(), 2, "the system message and Ben's own");
        assert_eq!(model.messages_of(2)[1].text(), Some("I am Ann."));
    }

    #[tokio::test]
    async fn unknown_token_is_rejected_before_the_model_is_called() {
        let model = ScriptedChatModel::replies(["Hello."]);
        for path in ["/chat", "/chat/stream"] {
            let reply = send(&server(&model), path, "forged", "Hi!").await;
            assert_eq!(reply.status, StatusCode::UNAUTHORIZED);
        }
        assert!(model.requests().is_empty());
    }

    #[tokio::test]
    async fn large_body_is_rejected_before_the_model_is_called() {
        let model = ScriptedChatModel::replies(["Hello."]);
        let message = "x".repeat(MAX_BODY_BYTES);
        let reply = send(&server(&model), "/chat", "ann-token", &message).await;
        assert_eq!(reply.status, StatusCode::PAYLOAD_TOO_LARGE);
        assert!(model.requests().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn second_request_of_a_user_is_rejected_while_the_first_one_runs() {
        let answer = || ScriptedAnswer::text("Hello.").after(Duration::from_secs(1));
        let model = ScriptedChatModel::new([answer(), answer()]);
        let server = server(&model);
        let (first, second, other) = tokio::join!(
            send(&server, "/chat", "ann-token", "Hi!"),
            send(&server, "/chat", "ann-token", "Hi again!"),
            send(&server, "/chat", "ben-token", "Hi!"),
        );
        let statuses = [first.status, second.status, other.status];
        assert_eq!(statuses, [StatusCode::OK, StatusCode::CONFLICT, StatusCode::OK]);
    }

    #[tokio::test]
    async fn overloaded_provider_is_reported_with_a_delay_and_without_its_text() {
        for path in ["/chat", "/chat/stream"] {
            let error = Error::new(ErrorKind::RateLimited, "SECRET is over its quota")
                .with_status(429)
                .with_retry_after(Duration::from_millis(1_500));
            let model = ScriptedChatModel::new([error.into()]);
            let reply = send(&server(&model), path, "ann-token", "Hi!").await;
            assert_eq!(reply.status, StatusCode::SERVICE_UNAVAILABLE, "{path}");
            assert_eq!(reply.headers[header::RETRY_AFTER], "2");
            assert_eq!(reply.body, r#"{"error":"Service Unavailable","is_retryable":true}"#);
        }
    }

    #[tokio::test]
    async fn stream_that_breaks_off_ends_with_an_error_event() {
        let answer = ScriptedAnswer::pieces(["Once"]).then_error(ErrorKind::Connection, "reset");
        let server = server(&ScriptedChatModel::new([answer]));
        let reply = send(&server, "/chat/stream", "ann-token", "A story!").await;
        assert_eq!(reply.status, StatusCode::OK, "the text had already been sent");
        let error = r#"{"error":"Bad Gateway","is_retryable":true}"#;
        let text = "event: text\ndata: \"Once\"\n\n";
        assert_eq!(reply.body, format!("{text}event: error\ndata: {error}\n\n"));
    }
}
