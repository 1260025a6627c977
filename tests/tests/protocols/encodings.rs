//! Encoded forms of messages, which a conversation keeps for every protocol that it was sent by, unless
//! the text needs no escapes.

use super::start;
use ai_services::message::ChatMessage;
use ai_services::model::ChatRequest;
use ai_services_tests::fault_server::Step::{Request, Send};
use ai_services_tests::protocols::{Mode, exchanges};

/// The names under which the clients keep encoded messages.
const DIALECTS: [&str; 5] = ["openai-chat", "openai-responses", "anthropic", "gemini", "ollama"];

#[tokio::test]
async fn message_with_escapes_is_encoded_once_for_each_protocol() {
    let request = ChatRequest::new([
        ChatMessage::system("Be\nbrief."),
        ChatMessage::user("\"Hi\""),
        ChatMessage::ai("Hello\n!"),
        ChatMessage::user("How are\nyou?"),
    ]);
    send_everywhere(&request).await;
    for message in request.messages() {
        for dialect in DIALECTS {
            let encoded = message.encoded(dialect, || panic!("{dialect}: {message:?}"));
            assert!(!encoded.is_empty(), "{dialect}: {message:?}");
        }
    }
}

#[tokio::test]
async fn text_without_escapes_is_not_kept_a_second_time() {
    let request = ChatRequest::new([
        ChatMessage::system("Be brief."),
        ChatMessage::user("Hi"),
        ChatMessage::ai("Hello!"),
        ChatMessage::user("How are you?"),
    ]);
    send_everywhere(&request).await;
    for message in request.messages() {
        for dialect in DIALECTS {
            let encoded = message.encoded(dialect, || b"new".to_vec());
            assert_eq!(encoded, b"new", "{dialect}: {message:?}");
        }
    }
}

/// Sends a request by every protocol.
async fn send_everywhere(request: &ChatRequest) {
    let exchanges: Vec<_> = exchanges().filter(|exchange| exchange.mode == Mode::Whole).collect();
    assert_eq!(exchanges.len(), DIALECTS.len());
    for exchange in exchanges {
        let server = start([vec![Request, Send(exchange.answer())]]).await;
        exchange.client(&server).chat(request).await.unwrap();
    }
}
