//! Encoded forms of messages, which a conversation keeps for every protocol that it was sent by.

use super::start;
use ai_services::message::ChatMessage;
use ai_services::model::ChatRequest;
use ai_services_tests::fault_server::Step::{Request, Send};
use ai_services_tests::protocols::{Mode, exchanges};

/// The names under which the clients keep encoded messages.
const DIALECTS: [&str; 5] = ["openai-chat", "openai-responses", "anthropic", "gemini", "ollama"];

#[tokio::test]
async fn message_is_encoded_once_for_each_protocol() {
    let request = ChatRequest::new([
        ChatMessage::system("Be brief."),
        ChatMessage::user("Hi"),
        ChatMessage::ai("Hello!"),
        ChatMessage::user("How are you?"),
    ]);
    let exchanges: Vec<_> = exchanges().filter(|exchange| exchange.mode == Mode::Whole).collect();
    assert_eq!(exchanges.len(), DIALECTS.len());
    for exchange in exchanges {
        let server = start([vec![Request, Send(exchange.answer())]]).await;
        exchange.client(&server).chat(&request).await.unwrap();
    }
    for message in request.messages() {
        for dialect in DIALECTS {
            let encoded = message.encoded(dialect, || panic!("{dialect}: {message:?}"));
            assert!(!encoded.is_empty(), "{dialect}: {message:?}");
        }
    }
}
