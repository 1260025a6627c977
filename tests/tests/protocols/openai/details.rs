//! Extensions of a server are sent back unchanged.

use super::{client, completion, hello, read};
use ai_services::memory::{MemoryId, MessageWindowChatMemory};
use ai_services::message::{AiMessage, ProviderContent};
use ai_services::model::{ChatModel, ChatRequest};
use ai_services::providers::openai::{ProviderExtensions, ThinkingReplay};
use ai_services::{ai_service, tools};
use ai_services_tests::fault_server::{FaultServer, events_answer, json_answer};
use serde_json::{Value, json};

struct Calculator;

#[tools]
impl Calculator {
    /// Adds two numbers.
    #[tool]
    async fn add(&self, a: i64, b: i64) -> String {
        format!("{}", a + b)
    }
}

#[ai_service]
trait Assistant {
    async fn ask(
        &self,
        #[memory_id] user: &str,
        #[user_message] question: &str,
    ) -> ai_services::Result<String>;

    fn tell(
        &self,
        #[memory_id] user: &str,
        #[user_message] question: &str,
    ) -> ai_services::AnswerStream;
}

fn assistant(server: &FaultServer) -> AssistantService {
    AssistantService::builder()
        .chat_model(client(server).thinking_replay(ThinkingReplay::Always).build().unwrap())
        .chat_memory_provider(|id: &MemoryId| {
            MessageWindowChatMemory::builder().id(id).max_messages(20).build()
        })
        .tools(Calculator)
        .build()
        .unwrap()
}

const OPENROUTER: &str = include_str!("streams/openrouter.sse");
const GEMINI: &str = include_str!("streams/gemini.sse");

/// The message of `streams/openrouter.sse`, as it is sent back.
fn openrouter() -> Value {
    json!({
        "role": "assistant",
        "content": null,
        "tool_calls": [
            { "id": "toolu_c", "type": "function",
                "function": { "name": "add", "arguments": "{\"a\":1,\"b\":3}" } },
        ],
        "reasoning_details": [
            { "type": "reasoning.text", "text": "Let me add…", "format": "anthropic-claude-v1",
                "index": 0, "signature": "RXJhc211cw==" },
            { "type": "reasoning.encrypted", "data": "b3BhcXVl", "format": "anthropic-claude-v1",
                "index": 1 },
        ],
    })
}

/// The message of `streams/gemini.sse`, as it is sent back.
fn gemini() -> Value {
    let signature = |signature: &str| json!({ "google": { "thought_signature": signature } });
    json!({
        "role": "assistant",
        "content": "Adding.",
        "extra_content": signature("c2ln"),
        "tool_calls": [
            { "id": "f1", "type": "function", "extra_content": signature("QQ=="),
                "function": { "name": "add", "arguments": "{\"a\":1,\"b\":3}" } },
            { "id": "f2", "type": "function",
                "function": { "name": "add", "arguments": "{\"a\":2,\"b\":3}" } },
        ],
    })
}

fn says(text: &str) -> Vec<u8> {
    json_answer(&completion(json!({ "content": text })))
}

#[tokio::test]
async fn details_and_signatures_are_sent_back_unchanged() {
    for message in [openrouter(), gemini()] {
        let mut first = message.clone();
        first["reasoning"] = "Let me add…".into();
        let first = json_answer(&completion(first));
        let server = FaultServer::answering([first, says("4."), says("Yes.")]).await.unwrap();
        let assistant = assistant(&server);
        let thinking = message.get("reasoning_details").is_none().then_some("Let me add…");
        assert_eq!(assistant.ask("klaus", "1 + 3?").await.unwrap(), "4.");
        assert_eq!(assistant.ask("klaus", "Sure?").await.unwrap(), "Yes.");
        let mut expected = message;
        // The thinking in the details is not sent twice.
        if let Some(thinking) = thinking {
            expected["reasoning_content"] = thinking.into();
        }
        for request in &server.requests()[1..] {
            assert_eq!(request.json()["messages"][1], expected);
        }
    }
}

#[tokio::test]
async fn streamed_details_and_signatures_are_assembled_and_sent_back() {
    for (stream, message) in [(OPENROUTER, openrouter()), (GEMINI, gemini())] {
        let end = "data: {\"choices\":[{\"delta\":{\"content\":\"4.\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
        let answers = [events_answer(stream), events_answer(end)];
        let server = FaultServer::answering(answers).await.unwrap();
        assistant(&server).tell("klaus", "1 + 3?").collect().await.unwrap();
        assert_eq!(server.requests()[1].json()["messages"][1], message);
    }
}

async fn words(message: Value) -> Option<String> {
    let answer = json_answer(&completion(message));
    let message = read(answer).await.unwrap().message;
    message.provider_content().map(|content| content.json().to_owned())
}

#[tokio::test]
async fn plain_answer_has_no_details() {
    let call = json!({ "id": "c", "function": { "name": "f", "arguments": "{}" } });
    for message in [
        json!({ "content": "a" }),
        json!({ "content": "a", "reasoning": "b", "reasoning_details": null, "extra_content": null }),
        json!({ "reasoning_content": "b", "reasoning_details": [], "tool_calls": [call] }),
        json!({ "content": "<thought>a", "extra_content": { "google": { "thought": true } } }),
    ] {
        assert_eq!(words(message.clone()).await, None, "{message}");
    }
}

#[tokio::test]
async fn details_in_any_form_are_accepted() {
    for details in [json!("a"), json!(7), json!({ "a": [1.5] }), json!([null, 1, "x", { "a": {} }])]
    {
        let message = json!({ "content": "a", "reasoning_details": details });
        let expected = json!({ "reasoning_details": details }).to_string();
        assert_eq!(words(message).await, Some(expected));
    }
}

#[tokio::test]
async fn content_of_another_protocol_is_not_sent() {
    let content = ProviderContent::from_json("anthropic", r#"{"reasoning_details":[1]}"#).unwrap();
    let message = AiMessage::builder().text("a").provider_content(content).build();
    let server = FaultServer::answering([says("b")]).await.unwrap();
    let mut messages: Vec<_> = hello().messages().cloned().collect();
    messages.push(message.into());
    client(&server).build().unwrap().chat(&ChatRequest::new(messages)).await.unwrap();
    let sent = &server.requests()[0].json()["messages"][1];
    assert_eq!(*sent, json!({ "role": "assistant", "content": "a" }));
}

#[tokio::test]
async fn details_of_another_server_are_not_sent_to_a_strict_server() {
    let content =
        ProviderContent::from_json("openai-chat", r#"{"reasoning_details":[1]}"#).unwrap();
    let message = AiMessage::builder().text("a").provider_content(content).build();
    let mut messages: Vec<_> = hello().messages().cloned().collect();
    messages.push(message.into());
    let request = ChatRequest::new(messages);
    for (words, details) in
        [(ProviderExtensions::Omit, None), (ProviderExtensions::Send, Some(json!([1])))]
    {
        let server = FaultServer::answering([says("b")]).await.unwrap();
        client(&server).provider_extensions(words).build().unwrap().chat(&request).await.unwrap();
        let sent = server.requests()[0].json()["messages"][1].clone();
        assert_eq!(sent.get("reasoning_details"), details.as_ref(), "{words:?}");
        assert_eq!(sent["content"], "a");
    }
}
