//! Streams of a service, over HTTP.

use super::client;
use ai_services::memory::{ChatMemory, MemoryId, MessageWindowChatMemory};
use ai_services::message::ChatMessage;
use ai_services::{AnswerStream, StreamEvent, ai_service};
use ai_services_tests::PATIENCE;
use ai_services_tests::fault_server::Step::{Hang, Request, Send};
use ai_services_tests::fault_server::{FaultServer, events_head};
use futures_util::StreamExt;
use std::future::poll_fn;
use std::task::Poll;
use tokio::time::timeout;

#[ai_service]
trait Chat {
    fn chat(&self, #[memory_id] room: &str, #[user_message] text: &str) -> AnswerStream;
}

const PIECES: [&str; 3] = [
    "data: {\"choices\":[{\"delta\":{\"content\":\"Hel\"}}]}\n\n",
    "data: {\"choices\":[{\"delta\":{\"content\":\"lo\"},\"finish_reason\":\"stop\"}]}\n\n",
    "data: [DONE]\n\n",
];

/// Items of a stream before it was dropped.
#[derive(Debug, PartialEq)]
enum Told {
    Nothing,
    Something,
    Everything,
}

/// Polls a stream when it is woken, at most `polls` times.
async fn poll(stream: &mut AnswerStream, polls: usize) -> Told {
    let (mut made, mut told) = (0, Told::Nothing);
    poll_fn(|context| {
        while made < polls {
            made += 1;
            match stream.poll_next_unpin(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(None) => break,
                Poll::Ready(Some(event)) => {
                    let is_end = matches!(event.unwrap(), StreamEvent::Completed(_));
                    told = if is_end { Told::Everything } else { Told::Something };
                }
            }
        }
        Poll::Ready(())
    })
    .await;
    told
}

#[tokio::test]
async fn stream_dropped_at_any_poll_is_not_stored_and_closes_its_connection() {
    let mut dropped_midway = 0;
    for polls in 0.. {
        let pieces = PIECES.into_iter().map(|piece| Send(piece.into()));
        let script = [Request, Send(events_head())].into_iter().chain(pieces).chain([Hang]);
        let server = FaultServer::start([script.collect()]).await.unwrap();
        let service = ChatService::builder()
            .chat_model(client(&server).build().unwrap())
            .chat_memory_provider(|id: &MemoryId| {
                MessageWindowChatMemory::builder().id(id).max_messages(10).build()
            })
            .build()
            .unwrap();
        let mut stream = service.chat("room", "Hi!");
        let told = poll(&mut stream, polls).await;
        drop(stream);
        let remembered = service.chat_memory("room").unwrap().messages().await.unwrap();
        if told == Told::Everything {
            assert_eq!(remembered.last(), Some(&ChatMessage::ai("Hello")));
            break;
        }
        assert!(remembered.is_empty(), "after {polls} polls: {remembered:?}");
        if told == Told::Something {
            dropped_midway += 1;
            let closed = timeout(PATIENCE, server.hung_up(1)).await;
            assert!(closed.is_ok(), "the server still sends after {polls} polls");
        }
    }
    assert!(dropped_midway > 0, "the stream was never dropped on its way");
}
