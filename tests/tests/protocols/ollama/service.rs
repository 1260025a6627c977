//! A service with a tool and a memory over the client.

use super::{client, reply};
use ai_services::memory::{MemoryId, MessageWindowChatMemory};
use ai_services::{AnswerStream, ai_service, tools};
use ai_services_tests::fault_server::{FaultServer, answer, json_answer};
use serde_json::json;

#[ai_service]
trait Guide {
    async fn ask(
        &self,
        #[memory_id] id: &str,
        #[user_message] text: &str,
    ) -> ai_services::Result<String>;

    fn stream(&self, #[memory_id] id: &str, #[user_message] text: &str) -> AnswerStream;
}

struct Weather;

#[tools]
impl Weather {
    /// Looks up the weather.
    #[tool]
    async fn weather(&self, city: String) -> String {
        format!("rain in {city}")
    }
}

fn service(server: &FaultServer) -> GuideService {
    GuideService::builder()
        .chat_model(client(server).build().unwrap())
        .chat_memory_provider(|id: &MemoryId| {
            MessageWindowChatMemory::builder().id(id).max_messages(20).build()
        })
        .tools(Weather)
        .build()
        .unwrap()
}

#[tokio::test]
async fn second_request_contains_thinking_call_and_result() {
    let call = json!({ "function": { "name": "weather", "arguments": { "city": "Oslo" } } });
    let calling = json!({ "role": "assistant", "content": "", "thinking": "A tool, \"perhaps\".",
        "tool_calls": [call] });
    let answers = [
        json_answer(&reply(calling)),
        json_answer(&reply(json!({ "content": "Take a coat." }))),
        json_answer(&reply(json!({ "content": "Still." }))),
    ];
    let server = FaultServer::answering(answers).await.unwrap();
    let service = service(&server);
    assert_eq!(service.ask("a", "Weather in Oslo?").await.unwrap(), "Take a coat.");
    assert_eq!(service.ask("a", "And now?").await.unwrap(), "Still.");

    let requests = server.requests();
    let messages = requests[1].json()["messages"].take();
    let id = messages[1]["tool_calls"][0]["id"].clone();
    assert!(id.is_string(), "{messages}");
    assert_eq!(
        messages,
        json!([
            { "role": "user", "content": "Weather in Oslo?" },
            {
                "role": "assistant", "content": "", "thinking": "A tool, \"perhaps\".",
                "tool_calls": [{
                    "id": id, "function": { "name": "weather", "arguments": { "city": "Oslo" } },
                }],
            },
            { "role": "tool", "tool_name": "weather", "tool_call_id": id, "content": "rain in Oslo" },
        ])
    );
    assert_eq!(requests[1].json()["tools"][0]["function"]["name"], "weather");
    // The next turn does not need the thinking of the previous one.
    let messages = requests[2].json()["messages"].take();
    assert_eq!(messages.as_array().unwrap().len(), 5);
    assert!(messages[1].get("thinking").is_none(), "{messages}");
}

#[tokio::test]
async fn streams_of_a_service_call_tools() {
    let lines = |message: serde_json::Value| {
        let begin = json!({ "message": message, "done": false });
        let body = format!("{begin}\n{}\n", reply(json!({ "content": "" })));
        answer(200, &[("content-type", "application/x-ndjson")], body)
    };
    let call = json!({ "function": { "name": "weather", "arguments": { "city": "Oslo" } } });
    let answers = [
        lines(json!({ "content": "", "tool_calls": [call] })),
        lines(json!({ "content": "Take a coat." })),
    ];
    let server = FaultServer::answering(answers).await.unwrap();
    let answer = service(&server).stream("a", "Weather?").collect().await.unwrap();
    assert_eq!(answer.value, "Take a coat.");
    let messages = server.requests()[1].json()["messages"].take();
    assert_eq!(messages[2]["content"], "rain in Oslo");
}
