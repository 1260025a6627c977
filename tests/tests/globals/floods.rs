//! Answers of ten gigabytes use neither time nor memory.

use super::own_process::in_own_process;
use ai_services::message::ChatMessage;
use ai_services::model::{ChatModel, ChatRequest};
use ai_services::{ErrorKind, Result};
use ai_services_tests::PATIENCE;
use ai_services_tests::fault_server::Step::{Flood, Repeat, Request, Send};
use ai_services_tests::fault_server::{FaultServer, Step, gzip_bomb, until_close, with_length};
use ai_services_tests::protocols::{self, Client, Protocol};
use futures_util::StreamExt;
use std::fs;
use tokio::time::timeout;

/// Maximum growth of the process.
const MAX_GROWTH: usize = 32 << 20;
/// Maximum number of bytes that a client reads: its limit and the socket buffers of both sides.
const MAX_TAKEN: usize = (8 << 20) + (16 << 20);

/// Returns the resident memory of this process, in bytes.
fn resident() -> usize {
    const PAGE: usize = 4096;
    let pages = fs::read_to_string("/proc/self/statm").unwrap();
    pages.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * PAGE
}

/// Floods: endless lines, events, comments and heads, a wrong length,
/// and a gzip bomb.
fn floods(protocol: &Protocol, content_type: &str, body: &str) -> Vec<Vec<Step>> {
    let head = |body: &str| Send(until_close("1.1", content_type, body));
    let begun = &body[..body.len() / 2];
    let announced = with_length(200, &[("content-type", content_type)], 10 << 30, begun);
    let bomb = [("content-type", content_type), ("content-encoding", "gzip")];
    let stream = (protocol.stream)();
    let without_end = &stream[..stream[..stream.len() - 2].rfind('\n').unwrap() + 1];
    vec![
        vec![Request, head(""), Flood],
        vec![Request, head(begun), Flood],
        vec![Request, head("data: "), Flood],
        vec![Request, head("{\"a\":\""), Flood],
        vec![Request, head(begun), Repeat(b"data: {}\n\n".repeat(5000))],
        vec![Request, head(begun), Repeat(b": ping\n".repeat(5000))],
        vec![Request, head(begun), Repeat(vec![b'\n'; 64 << 10])],
        vec![Request, head(""), Repeat(vec![b' '; 64 << 10])],
        vec![Request, Send(b"HTTP/1.1 200 OK\r\n\r\n".to_vec()), Repeat(vec![b' '; 64 << 10])],
        vec![Request, head(""), Repeat(without_end.repeat(50).into())],
        vec![Request, Send(announced), Flood],
        vec![Request, Send(with_length(200, &bomb, 10 << 30, gzip_bomb())), Repeat(gzip_bomb())],
        vec![Request, Send(b"HTTP/1.1 200 OK\r\nx: ".to_vec()), Flood],
        vec![Request, Send(b"HTTP/1.1 500 No\r\n\r\n".to_vec()), Flood],
    ]
}

/// Returns `true` if the status is 500.
fn sends_failure(script: &[Step]) -> bool {
    script.iter().any(|step| matches!(step, Send(bytes) if bytes.starts_with(b"HTTP/1.1 500 ")))
}

async fn ask(model: &dyn ChatModel, is_stream: bool) -> Result<()> {
    let request = ChatRequest::new([ChatMessage::user("Hello!")]);
    if !is_stream {
        return model.chat(&request).await.map(drop);
    }
    let mut events = model.stream(&request);
    while let Some(event) = events.next().await {
        event?;
    }
    Ok(())
}

#[test]
fn endless_answers_use_no_memory() {
    in_own_process(async || {
        let mut before = None;
        let mut floods_seen = 0;
        for protocol in protocols::all() {
            for (is_stream, content_type, body) in [
                (false, "application/json", (protocol.whole)()),
                (true, protocol.stream_type, (protocol.stream)()),
            ] {
                for (number, script) in
                    floods(&protocol, content_type, &body).into_iter().enumerate()
                {
                    let context = format!("{protocol:?}, stream: {is_stream}, flood {number}");
                    let is_failure = sends_failure(&script);
                    let server = FaultServer::start([script]).await.unwrap();
                    let origin = server.origin();
                    let mut client = Client::of(&origin);
                    (client.max_response_bytes, client.max_stream_bytes) = (8 << 20, 8 << 20);
                    let model = (protocol.client)(&client).unwrap();
                    // The first call allocates things that are allocated once.
                    let before = *before.get_or_insert_with(resident);
                    let asked = timeout(2 * PATIENCE, ask(&*model, is_stream)).await;
                    let kind = asked.unwrap().unwrap_err().kind();
                    let expected = match is_failure {
                        true => ErrorKind::Unavailable,
                        false => ErrorKind::InvalidResponse,
                    };
                    assert_eq!(kind, expected, "{context}");
                    timeout(PATIENCE, server.hung_up(1)).await.unwrap();
                    assert!(server.flooded() < MAX_TAKEN, "{context}: {}", server.flooded());
                    let growth = resident().saturating_sub(before);
                    assert!(growth < MAX_GROWTH, "{context}: {growth} bytes");
                    floods_seen += 1;
                }
            }
        }
        assert!(floods_seen >= 28);
    });
}
