//! Tools whose definitions are loaded after a search.

use super::{call, client, response, said};
use ai_services::memory::{InMemoryChatMemoryStore, MessageWindowChatMemory};
use ai_services::model::{Capabilities, Capability, ChatModel};
use ai_services::providers::openai::OpenAiResponsesModel;
use ai_services::tool::ToolSearch;
use ai_services::{ai_service, tool};
use ai_services_tests::fault_server::{FaultServer, json_answer};
use serde_json::{Value, json};

/// Returns the weather of a city.
#[tool(read_only)]
fn weather(city: &str) -> String {
    format!("{city}: sunny")
}

/// Converts an amount of money to another currency.
#[tool(read_only)]
fn convert(amount: f64) -> f64 {
    amount
}

#[ai_service]
trait Assistant {
    async fn ask(
        &self,
        #[memory_id] user: &str,
        #[user_message] question: &str,
    ) -> ai_services::Result<String>;
}

fn assistant(server: &FaultServer, store: &InMemoryChatMemoryStore) -> AssistantService {
    let can = [Capability::Tools, Capability::DeferredTools];
    let model = client(server).capabilities(Capabilities::of(can)).build().unwrap();
    let store = store.clone();
    AssistantService::builder()
        .chat_model(model)
        .tool_provider(ToolSearch::by_keyword(vec![weather::tool(), convert::tool()]))
        .chat_memory_provider(move |id| {
            let window = MessageWindowChatMemory::builder().id(id).max_messages(20);
            window.store(store.clone()).build()
        })
        .build()
        .unwrap()
}

#[tokio::test]
async fn definitions_follow_the_search_that_found_the_tools() {
    let query = r#"{"query":"weather in a city"}"#;
    let answers = [
        json!([call("c1", "search_tools", query)]),
        json!([call("c2", "search_tools", query)]),
        json!([call("c3", "weather", r#"{"city":"Oslo"}"#)]),
        json!([said("Sunny.")]),
        json!([said("Yes.")]),
    ];
    let mut answers: Vec<_> = answers.iter().map(|output| json_answer(&response(output))).collect();
    let again = answers.pop().unwrap();
    let first = FaultServer::answering(answers).await.unwrap();
    let store = InMemoryChatMemoryStore::new();
    assert_eq!(assistant(&first, &store).ask("ann", "Oslo?").await.unwrap(), "Sunny.");
    // After a restart.
    let second = FaultServer::answering([again]).await.unwrap();
    assert_eq!(assistant(&second, &store).ask("ann", "Sure?").await.unwrap(), "Yes.");

    let requests = [first.requests(), second.requests()].concat();
    let sent: Vec<Value> = requests.iter().map(|request| request.json()).collect();
    assert_eq!(sent.len(), 5);
    for body in &sent {
        assert_eq!(body["tools"], sent[0]["tools"]);
        assert_eq!(body["tools"].as_array().unwrap().len(), 1);
        assert_eq!(body["tools"][0]["name"], "search_tools");
    }
    let input = sent[4]["input"].as_array().unwrap();
    let kinds: Vec<_> = input.iter().map(|item| item["type"].as_str().unwrap()).collect();
    assert_eq!(
        kinds,
        [
            "message",
            "function_call",
            "function_call_output",
            "tool_search_call",
            "tool_search_output",
            // The second search has found the same tool.
            "function_call",
            "function_call_output",
            "function_call",
            "function_call_output",
            "message",
            "message",
        ]
    );
    assert_eq!(
        input[3],
        json!({ "type": "tool_search_call", "call_id": "c1_tools", "execution": "client",
            "status": "completed", "arguments": { "query": "weather" } })
    );
    assert_eq!(
        input[4],
        json!({ "type": "tool_search_output", "call_id": "c1_tools", "execution": "client",
            "status": "completed", "tools": [{
                "type": "function", "name": "weather", "description": "Returns the weather of a city.",
                "parameters": input[4]["tools"][0]["parameters"], "strict": false,
                "defer_loading": true,
            }] })
    );
    assert_eq!(input[4]["tools"][0]["parameters"]["required"], json!(["city"]));
    // Each request begins with the one before, so that the provider finds it in its cache.
    for (before, after) in sent.iter().zip(&sent[1..]) {
        let [before, after] = [before, after].map(|body| body["input"].as_array().unwrap());
        assert_eq!(after[..before.len()], before[..]);
    }
}

#[test]
fn capability_is_set_by_the_application_only() {
    let builder = OpenAiResponsesModel::builder().api_key("k").model("gpt-5.4");
    assert!(!builder.build().unwrap().capabilities().contains(Capability::DeferredTools));
}
