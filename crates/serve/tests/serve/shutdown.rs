//! The end of a server.

use crate::fixture::server;
use ai_services::memory::InMemoryChatMemoryStore;
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use serde_json::json;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

async fn ask(address: std::net::SocketAddr) -> TcpStream {
    let body = json!({
        "threadId": "t", "runId": "r", "tools": [], "context": [],
        "messages": [{ "id": "m", "role": "user", "content": "Hi!" }],
    });
    let body = body.to_string();
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = format!(
        "POST /ag-ui/assistant HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ann\r\n\
         content-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream
}

/// Serves an answer of `pieces` pieces, ends the server after the first one, and returns the client's text.
async fn shut_down(pieces: usize, grace: Duration) -> String {
    let model = ScriptedChatModel::from_fn(move |_, _| {
        ScriptedAnswer::pieces(vec!["piece "; pieces]).with_pauses(Duration::from_millis(20))
    });
    let server =
        server(model, &InMemoryChatMemoryStore::new()).shutdown_grace(grace).build().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    #[allow(clippy::disallowed_methods, reason = "a test server runs beside its test")]
    let served =
        tokio::spawn(async move { server.serve(listener, async { drop(stopped.await) }).await });
    let mut client = ask(address).await;
    let mut text = Vec::new();
    while !text.windows(6).any(|window| window == b"piece ") {
        assert_ne!(client.read_buf(&mut text).await.unwrap(), 0);
    }
    stop.send(()).unwrap();
    client.read_to_end(&mut text).await.unwrap();
    served.await.unwrap().unwrap();
    assert!(TcpStream::connect(address).await.is_err(), "the server has ended");
    String::from_utf8(text).unwrap()
}

#[tokio::test]
async fn running_answer_ends_before_the_server() {
    let text = shut_down(5, Duration::from_secs(60)).await;
    assert!(text.contains("RUN_FINISHED"), "{text}");
}

#[tokio::test]
async fn answer_is_cut_at_the_end_of_the_grace_period() {
    let text = shut_down(100_000, Duration::from_millis(50)).await;
    assert!(text.contains("RUN_ERROR") && !text.contains("RUN_FINISHED"), "{text}");
}
