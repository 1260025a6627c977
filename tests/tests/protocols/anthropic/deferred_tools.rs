//! Tools whose definitions are loaded by the results of a search.

use super::{answer, client};
use ai_services::memory::{InMemoryChatMemoryStore, MessageWindowChatMemory};
use ai_services::model::{Capabilities, Capability, ChatModel};
use ai_services::providers::anthropic::{AnthropicChatModel, CacheLifetime, PromptCaching};
use ai_services::tool::ToolSearch;
use ai_services::{AnswerStream, Tool, ai_service, tool};
use ai_services_tests::fault_server::{FaultServer, events_answer, json_answer};
use futures_util::TryStreamExt;
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

    fn tell(&self, #[memory_id] user: &str, #[user_message] question: &str) -> AnswerStream;

    #[tools("weather")]
    async fn plain(
        &self,
        #[memory_id] user: &str,
        #[user_message] question: &str,
    ) -> ai_services::Result<String>;
}

fn catalog() -> Vec<Tool> {
    vec![weather::tool(), convert::tool()]
}

fn assistant(server: &FaultServer, store: &InMemoryChatMemoryStore) -> AssistantService {
    let can = [Capability::Tools, Capability::Streaming, Capability::DeferredTools];
    let model = client(server)
        .prompt_caching(PromptCaching::Conversation(CacheLifetime::FiveMinutes))
        .capabilities(Capabilities::of(can));
    let store = store.clone();
    AssistantService::builder()
        .chat_model(model.build().unwrap())
        .tool_provider(ToolSearch::by_keyword(catalog()))
        .chat_memory_provider(move |id| {
            let window = MessageWindowChatMemory::builder().id(id).max_messages(20);
            window.store(store.clone()).build()
        })
        .build()
        .unwrap()
}

fn calls(id: &str, name: &str, input: &Value) -> Value {
    let call = json!([{ "type": "tool_use", "id": id, "name": name, "input": input }]);
    answer(&call, "tool_use")
}

fn conversation() -> [Value; 4] {
    let says = |text: &str| answer(&json!([{ "type": "text", "text": text }]), "end_turn");
    [
        calls("toolu_1", "search_tools", &json!({ "query": "weather in a city" })),
        calls("toolu_2", "weather", &json!({ "city": "Oslo" })),
        says("Sunny."),
        says("Yes."),
    ]
}

fn bodies(server: &FaultServer) -> Vec<Value> {
    server.requests().iter().map(|request| request.json()).collect()
}

/// Checks that the result of the search is sent as references in all later requests, and that the tools never change.
fn check(bodies: &[Value]) {
    for body in bodies {
        let tools = body["tools"].as_array().unwrap();
        let sent: Vec<_> = tools.iter().map(|it| (&it["name"], &it["defer_loading"])).collect();
        let (deferred, search) = (json!(true), json!("search_tools"));
        assert_eq!(
            sent,
            [
                (&json!("weather"), &deferred),
                (&json!("convert"), &deferred),
                (&search, &Value::Null)
            ]
        );
        let marked = tools.iter().filter(|tool| tool.get("cache_control").is_some());
        assert_eq!(marked.map(|tool| &tool["name"]).collect::<Vec<_>>(), [&search]);
    }
    for body in &bodies[1..] {
        let mut result = body["messages"][2]["content"][0].clone();
        result.as_object_mut().unwrap().remove("cache_control");
        assert_eq!(
            result,
            json!({ "type": "tool_result", "tool_use_id": "toolu_1", "content": [
                { "type": "tool_reference", "tool_name": "weather" },
            ] })
        );
    }
}

#[tokio::test]
async fn search_result_is_sent_as_references_also_after_a_restart() {
    let store = InMemoryChatMemoryStore::new();
    let [search, call, done, again] = conversation().map(|answer| json_answer(&answer));
    let first = FaultServer::answering([search, call, done]).await.unwrap();
    assert_eq!(assistant(&first, &store).ask("ann", "Oslo?").await.unwrap(), "Sunny.");
    let second = FaultServer::answering([again]).await.unwrap();
    assert_eq!(assistant(&second, &store).ask("ann", "Sure?").await.unwrap(), "Yes.");
    let bodies = [bodies(&first), bodies(&second)].concat();
    assert_eq!(bodies.len(), 4);
    check(&bodies);
}

#[tokio::test]
async fn streamed_turn_sends_the_same() {
    let store = InMemoryChatMemoryStore::new();
    let answers = conversation().map(|answer| events_answer(events(&answer)));
    let server = FaultServer::answering(answers).await.unwrap();
    let assistant = assistant(&server, &store);
    assistant.tell("ann", "Oslo?").try_collect::<Vec<_>>().await.unwrap();
    assistant.tell("ann", "Sure?").try_collect::<Vec<_>>().await.unwrap();
    let bodies = bodies(&server);
    assert_eq!(bodies.len(), 4);
    check(&bodies);
}

#[tokio::test]
async fn search_result_is_a_text_for_a_method_without_the_search() {
    let store = InMemoryChatMemoryStore::new();
    let [search, call, done, again] = conversation().map(|answer| json_answer(&answer));
    let first = FaultServer::answering([search, call, done]).await.unwrap();
    assistant(&first, &store).ask("ann", "Oslo?").await.unwrap();
    let loads = bodies(&first)[1]["messages"][2]["content"][0].clone();
    assert!(loads["content"].is_array());
    // The API rejects a reference to a tool that the request does not have.
    let second = FaultServer::answering([again]).await.unwrap();
    let plain = AssistantService::builder()
        .chat_model(client(&second).build().unwrap())
        .tools(weather::tool())
        .chat_memory_provider(move |id| {
            let window = MessageWindowChatMemory::builder().id(id).max_messages(20);
            window.store(store.clone()).build()
        })
        .build()
        .unwrap();
    plain.plain("ann", "Sure?").await.unwrap();
    let body = bodies(&second).remove(0);
    assert!(body["messages"][2]["content"][0]["content"].is_string(), "{body}");
    assert_eq!(body["tools"][0].get("defer_loading"), None);
}

#[test]
fn capability_depends_on_server_and_model() {
    let official = |model: &str| {
        let model = AnthropicChatModel::builder().api_key("k").model(model).build().unwrap();
        model.capabilities().contains(Capability::DeferredTools)
    };
    assert!(official("claude-sonnet-4-5"));
    assert!(!official("claude-haiku-4-5"));
    let other = AnthropicChatModel::builder().base_url("http://localhost:1");
    let other = other.model("claude-sonnet-4-5").build().unwrap();
    assert!(!other.capabilities().contains(Capability::DeferredTools));
}

/// Returns the events of a streamed answer of one block.
fn events(answer: &Value) -> String {
    let block = &answer["content"][0];
    let (start, delta) = match block["type"].as_str() {
        Some("text") => (
            json!({ "type": "text", "text": "" }),
            json!({ "type": "text_delta", "text": block["text"] }),
        ),
        _ => (
            json!({ "type": "tool_use", "id": block["id"], "name": block["name"], "input": {} }),
            json!({ "type": "input_json_delta", "partial_json": block["input"].to_string() }),
        ),
    };
    let mut begin = answer.clone();
    begin["content"] = json!([]);
    begin["stop_reason"] = Value::Null;
    let events = [
        json!({ "type": "message_start", "message": begin }),
        json!({ "type": "content_block_start", "index": 0, "content_block": start }),
        json!({ "type": "content_block_delta", "index": 0, "delta": delta }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "message_delta", "delta": { "stop_reason": answer["stop_reason"] },
            "usage": { "output_tokens": 2 } }),
        json!({ "type": "message_stop" }),
    ];
    events.iter().map(|event| format!("data: {event}\n\n")).collect()
}
