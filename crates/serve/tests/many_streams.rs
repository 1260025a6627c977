//! Memory of many streams at once. A test program of its own: it measures the process.
#![cfg(target_os = "linux")]
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "tests panic on failure")]

#[path = "serve/tcp_client.rs"]
mod tcp_client;

use ai_services::memory::{MemoryId, MessageWindowChatMemory};
use ai_services::message::AiMessage;
use ai_services::model::{
    Capabilities, Capability, ChatModel, ChatRequest, ChatResponse, ModelStreamEvent,
};
use ai_services::serve::{ChatServer, Principal};
use ai_services::{AnswerStream, Result, ai_service, async_trait};
use futures_util::future::join_all;
use futures_util::stream::{self, BoxStream, StreamExt};
use serde_json::json;
use std::net::SocketAddr;
use tcp_client::{connect, read_until};
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Barrier, watch};

const STREAMS: usize = 200;
const PIECES: usize = 100;
/// Limit of the whole process, with its clients.
const LIMIT_KIB: usize = 64 * 1024;

#[ai_service]
trait Assistant {
    fn chat(&self, #[memory_id] id: &MemoryId, #[user_message] text: &str) -> AnswerStream;
}

/// A model that writes some pieces and then waits.
#[derive(Clone)]
struct Model {
    goes_on: watch::Sender<bool>,
}

#[async_trait]
impl ChatModel for Model {
    async fn chat(&self, _: &ChatRequest) -> Result<ChatResponse> {
        Ok(ChatResponse::new(AiMessage::new("not streamed")))
    }

    fn stream<'a>(&'a self, _: &'a ChatRequest) -> BoxStream<'a, Result<ModelStreamEvent>> {
        let pieces =
            (0..PIECES).map(|number| Ok(ModelStreamEvent::Text(format!("piece {number} "))));
        let end = async {
            self.goes_on.subscribe().wait_for(|goes_on| *goes_on).await.unwrap();
            let text = (0..PIECES).map(|number| format!("piece {number} ")).collect::<String>();
            Ok(ModelStreamEvent::Completed(Box::new(ChatResponse::new(AiMessage::new(text)))))
        };
        stream::iter(pieces).chain(stream::once(end)).boxed()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::of([Capability::Streaming])
    }
}

fn server(model: Model) -> ChatServer {
    let assistant = AssistantService::builder()
        .chat_model(model)
        .chat_memory_provider(|id| {
            MessageWindowChatMemory::builder().id(id).max_messages(20).build()
        })
        .build()
        .unwrap();
    ChatServer::builder()
        .authenticate(async |_| Ok(Principal::new("ann")))
        .service("assistant", move |turn| assistant.chat(turn.memory_id(), turn.text()))
        .build()
        .unwrap()
}

/// Returns a figure of the process in KiB.
fn process(name: &str) -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.split_whitespace().find_map(|word| word.parse().ok()).unwrap()
}

/// Begins a stream in a conversation of its own.
async fn begin(address: SocketAddr, number: usize) -> TcpStream {
    let thread = format!("t{number}");
    let (path, body) = match number % 4 {
        0 => (
            "/v1/chat/completions",
            json!({ "model": "assistant", "messages": [{ "role": "user", "content": "Hi!" }], "stream": true }),
        ),
        1 => ("/v1/responses", json!({ "model": "assistant", "input": "Hi!", "stream": true })),
        2 => {
            let parts = json!([{ "type": "text", "text": "Hi!" }]);
            let messages = json!([{ "role": "user", "parts": parts }]);
            ("/ui/assistant", json!({ "id": thread, "messages": messages }))
        }
        _ => {
            let messages = json!([{ "id": "m", "role": "user", "content": "Hi!" }]);
            ("/ag-ui/assistant", json!({ "threadId": thread, "runId": "r", "messages": messages }))
        }
    };
    connect(address, path, "", &body).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memory_of_two_hundred_streams_is_bounded() {
    let model = Model { goes_on: watch::Sender::new(false) };
    let server = server(model.clone());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (before, all_run) = (process("VmRSS:"), Barrier::new(STREAMS));
    let client = async |number| {
        let mut client = begin(address, number).await;
        read_until(&mut client, &format!("piece {} ", PIECES - 1)).await;
        // None ends before all have begun.
        if all_run.wait().await.is_leader() {
            let during = process("VmRSS:");
            println!("{STREAMS} streams: {} KiB, the process {during} KiB", during - before);
            model.goes_on.send_replace(true);
        }
        let mut rest = Vec::new();
        client.read_to_end(&mut rest).await.unwrap();
        rest.len()
    };
    let rests = tokio::select! {
        result = server.serve(listener, std::future::pending()) => panic!("{result:?}"),
        rests = join_all((0..STREAMS).map(client)) => rests,
    };
    assert!(rests.iter().all(|rest| *rest > 0), "each stream has an end");
    let peak = process("VmHWM:");
    assert!(peak <= LIMIT_KIB, "{peak} KiB");
}
