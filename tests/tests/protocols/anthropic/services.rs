//! Services with the Anthropic client.

use super::{answer, client};
use ai_services::memory::{MemoryId, MessageWindowChatMemory};
use ai_services::{ai_service, tools};
use ai_services_tests::fault_server::{FaultServer, events_answer, json_answer};
use serde_json::json;

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
#[system_message("Be brief.")]
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

    #[user_message("How many legs has {{it}}?")]
    async fn legs(&self, animal: &str) -> ai_services::Result<u8>;
}

fn assistant(server: &FaultServer) -> AssistantService {
    AssistantService::builder()
        .chat_model(client(server).build().unwrap())
        .chat_memory_provider(|id: &MemoryId| {
            MessageWindowChatMemory::builder().id(id).max_messages(20).build()
        })
        .tools(Calculator)
        .build()
        .unwrap()
}

/// A turn with a tool, and the next turn. The blocks are those of
/// `streams/thinking.sse`.
fn expected() -> serde_json::Value {
    json!([
        { "role": "user", "content": [{ "type": "text", "text": "1 + 3?" }] },
        { "role": "assistant", "content": [
            { "type": "thinking", "thinking": "Let me see…", "signature": "RXJhc211cw==" },
            { "type": "redacted_thinking", "data": "b3BhcXVl" },
            { "type": "text", "text": "It is 4." },
            { "type": "tool_use", "id": "toolu_c", "name": "add", "input": { "a": 1, "b": 3 } },
        ] },
        { "role": "user", "content": [
            { "type": "tool_result", "tool_use_id": "toolu_c", "content": "4" },
        ] },
        { "role": "assistant", "content": [{ "type": "text", "text": "4." }] },
        { "role": "user", "content": [{ "type": "text", "text": "Sure?" }] },
    ])
}

fn says(text: &str) -> Vec<u8> {
    json_answer(&answer(&json!([{ "type": "text", "text": text }]), "end_turn"))
}

#[tokio::test]
async fn turn_with_a_tool_keeps_thoughts_and_signatures() {
    let blocks = expected()[1]["content"].take();
    let first = json_answer(&answer(&blocks, "tool_use"));
    let server = FaultServer::answering([first, says("4."), says("Yes.")]).await.unwrap();
    let assistant = assistant(&server);
    assert_eq!(assistant.ask("klaus", "1 + 3?").await.unwrap(), "4.");
    assert_eq!(assistant.ask("klaus", "Sure?").await.unwrap(), "Yes.");
    let bodies: Vec<_> = server.requests().iter().map(|request| request.json()).collect();
    let messages = expected();
    assert_eq!(bodies[1]["messages"], json!(messages.as_array().unwrap()[..3]));
    assert_eq!(bodies[2]["messages"], messages);
    for body in &bodies {
        assert_eq!(body["system"], json!([{ "type": "text", "text": "Be brief." }]));
        assert_eq!(body["tools"][0]["name"], "add");
    }
}

#[tokio::test]
async fn streamed_turn_with_a_tool_keeps_thoughts_and_signatures() {
    let first = events_answer(include_str!("streams/thinking.sse"));
    let text = include_str!("streams/text.sse");
    let server = FaultServer::answering([first, events_answer(text)]).await.unwrap();
    assistant(&server).tell("klaus", "1 + 3?").collect().await.unwrap();
    let body = server.requests()[1].json();
    assert_eq!(body["messages"], json!(expected().as_array().unwrap()[..3]));
    assert_eq!(body["stream"], true);
}

#[tokio::test]
async fn typed_answer_uses_a_tool_if_no_schema_is_enforced() {
    let call =
        json!([{ "type": "tool_use", "id": "c", "name": "final_answer", "input": { "value": 8 } }]);
    let server = FaultServer::answering([json_answer(&answer(&call, "tool_use"))]).await.unwrap();
    assert_eq!(assistant(&server).legs("a spider").await.unwrap(), 8);
    let body = server.requests()[0].json();
    assert_eq!(body["tool_choice"], json!({ "type": "any" }));
    assert_eq!(body.get("output_config"), None);
}
