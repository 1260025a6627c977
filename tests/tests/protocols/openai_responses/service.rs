//! A service with a tool and a memory over the client.

use super::{call, client, response, said, thought};
use ai_services::memory::MessageWindowChatMemory;
use ai_services::{ai_service, tools};
use ai_services_tests::fault_server::{FaultServer, events_answer, json_answer};
use serde_json::{Value, json};

#[ai_service]
trait Chat {
    async fn chat(&self, #[user_message] text: &str) -> ai_services::Result<String>;

    fn stream(&self, #[user_message] text: &str) -> ai_services::AnswerStream;
}

struct Weather;

#[tools]
impl Weather {
    /// Looks up the weather.
    #[tool]
    fn weather(&self, city: String) -> String {
        city + ": 12°"
    }
}

fn service(server: &FaultServer) -> ChatService {
    ChatService::builder()
        .chat_model(client(server).build().unwrap())
        .chat_memory(MessageWindowChatMemory::builder().max_messages(20).build().unwrap())
        .tools(Weather)
        .build()
        .unwrap()
}

fn first() -> Value {
    json!([thought("Hm"), call("c1", "weather", r#"{"city":"Oslo"}"#)])
}

fn second() -> Value {
    json!([thought("Ah"), said("It is 12°.")])
}

fn question(text: &str) -> Value {
    json!({ "type": "message", "role": "user", "content": text })
}

/// Expected input of the last request of two turns.
fn history() -> Value {
    let (first, second) = (first(), second());
    let result = json!({ "type": "function_call_output", "call_id": "c1", "output": "Oslo: 12°" });
    json!([question("Oslo?"), first[0], first[1], result, second[0], second[1], question("Sure?")])
}

#[tokio::test]
async fn call_result_and_reasoning_are_in_the_next_requests() {
    let answers = [first(), second(), json!([said("Yes.")])];
    let answers = answers.map(|output| json_answer(&response(&output)));
    let server = FaultServer::answering(answers).await.unwrap();
    let chat = service(&server);
    assert_eq!(chat.chat("Oslo?").await.unwrap(), "It is 12°.");
    assert_eq!(chat.chat("Sure?").await.unwrap(), "Yes.");
    let sent: Vec<Value> = server.requests().iter().map(|request| request.json()).collect();
    assert_eq!(sent[0]["tools"][0]["name"], "weather");
    assert_eq!(
        sent[1]["input"].as_array(),
        history().as_array().map(|all| all[..4].to_vec()).as_ref()
    );
    assert_eq!(sent[2]["input"], history());
}

#[tokio::test]
async fn streamed_turns_send_the_same() {
    let stream = |output: Value| {
        let mut events = String::new();
        for (index, item) in output.as_array().unwrap().iter().enumerate() {
            let event =
                json!({ "type": "response.output_item.done", "output_index": index, "item": item });
            events += &format!("data: {event}\n\n");
        }
        let last = json!({ "type": "response.completed", "response": response(&output) });
        events_answer(events + &format!("data: {last}\n\n"))
    };
    let answers = [first(), second(), json!([said("Yes.")])].map(stream);
    let server = FaultServer::answering(answers).await.unwrap();
    let chat = service(&server);
    for question in ["Oslo?", "Sure?"] {
        chat.stream(question).collect().await.unwrap();
    }
    assert_eq!(server.requests()[2].json()["input"], history());
}
