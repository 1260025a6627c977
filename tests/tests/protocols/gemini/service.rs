//! A service over the client: tools, memory, signatures.

use super::{answer_of, client};
use ai_services::memory::{MemoryId, MessageWindowChatMemory};
use ai_services::{AnswerStream, Result, ai_service, tools};
use ai_services_tests::fault_server::{FaultServer, events_answer, json_answer};
use serde_json::{Value, json};

struct Weather;

#[tools]
impl Weather {
    /// Looks up the weather.
    #[tool]
    async fn weather(&self, city: String) -> String {
        format!("Rain in {city}.")
    }
}

#[ai_service]
trait Guide {
    async fn ask(&self, #[memory_id] room: &str, #[user_message] text: &str) -> Result<String>;

    fn tell(&self, #[memory_id] room: &str, #[user_message] text: &str) -> AnswerStream;
}

/// The parts of an answer that calls two tools, one of them without an id.
fn calls() -> Value {
    json!([
        { "text": "Hm.", "thought": true },
        { "functionCall": { "name": "weather", "args": { "city": "Oslo" } }, "thoughtSignature": "c2ln" },
        { "functionCall": { "name": "weather", "args": { "city": "Rio" }, "id": "c2" } },
    ])
}

fn service(server: &FaultServer) -> GuideService {
    let memory = |id: &MemoryId| MessageWindowChatMemory::builder().id(id).max_messages(20).build();
    GuideService::builder()
        .chat_model(client(server).build().unwrap())
        .chat_memory_provider(memory)
        .tools(Weather)
        .build()
        .unwrap()
}

/// Expected contents of the second and third request, without the last one.
fn check(server: &FaultServer) {
    let requests = server.requests();
    let contents = |index: usize| requests[index].json()["contents"].take();
    let response = |id: Option<&str>, city: &str| {
        let output = json!({ "output": format!("Rain in {city}.") });
        match id {
            Some(id) => {
                json!({ "functionResponse": { "id": id, "name": "weather", "response": output } })
            }
            None => json!({ "functionResponse": { "name": "weather", "response": output } }),
        }
    };
    let expected = json!([
        { "role": "user", "parts": [{ "text": "Weather?" }] },
        { "role": "model", "parts": calls() },
        { "role": "user", "parts": [response(None, "Oslo"), response(Some("c2"), "Rio")] },
    ]);
    assert_eq!(contents(1), expected);
    let mut expected = expected.as_array().unwrap().clone();
    expected.push(
        json!({ "role": "model", "parts": [{ "text": "Wet.", "thoughtSignature": "ZW5k" }] }),
    );
    expected.push(json!({ "role": "user", "parts": [{ "text": "Sure?" }] }));
    assert_eq!(contents(2), Value::Array(expected));
}

#[tokio::test]
async fn calls_results_and_signatures_are_sent_back() {
    let end = answer_of(json!([{ "text": "Wet.", "thoughtSignature": "ZW5k" }]), "STOP");
    let sure = answer_of(json!([{ "text": "Yes." }]), "STOP");
    let answers = [answer_of(calls(), "STOP"), end, sure];
    let server = FaultServer::answering(answers.iter().map(json_answer)).await.unwrap();
    let guide = service(&server);
    assert_eq!(guide.ask("a", "Weather?").await.unwrap(), "Wet.");
    assert_eq!(guide.ask("a", "Sure?").await.unwrap(), "Yes.");
    check(&server);
}

#[tokio::test]
async fn streams_send_the_same_back() {
    let event = |parts: Value, reason: Option<&str>| {
        let candidate =
            json!({ "content": { "parts": parts, "role": "model" }, "finishReason": reason });
        format!("data: {}\n\n", json!({ "candidates": [candidate] }))
    };
    let parts = calls();
    let one_by_one: String =
        parts.as_array().unwrap().iter().map(|part| event(json!([part]), None)).collect();
    let answers = [
        one_by_one + &event(json!([{ "text": "" }]), Some("STOP")),
        event(json!([{ "text": "Wet.", "thoughtSignature": "ZW5k" }]), Some("STOP")),
        event(json!([{ "text": "Ye" }]), None) + &event(json!([{ "text": "s." }]), Some("STOP")),
    ];
    let server = FaultServer::answering(answers.iter().map(events_answer)).await.unwrap();
    let guide = service(&server);
    for (question, expected) in [("Weather?", "Wet."), ("Sure?", "Yes.")] {
        let response = guide.tell("a", question).collect().await.unwrap();
        assert_eq!(response.value, expected);
    }
    check(&server);
}
