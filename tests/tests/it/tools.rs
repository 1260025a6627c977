//! Tools: schemas, arguments, results, failures.

use crate::desk::{
    Agent, AgentService, Desk, UserAgent, UserAgentService, add, call, calling, results, told,
};
use ai_services::memory::{MemoryId, MessageWindowChatMemory};
use ai_services::message::ToolCall;
use ai_services::testing::ScriptedChatModel;
use ai_services::{ErrorKind, InvocationContext};
use serde_json::json;
use std::sync::Arc;

#[tokio::test]
async fn specification_matches_the_signature() {
    let model = ScriptedChatModel::replies(["ok"]);
    let agent =
        AgentService::builder().chat_model(model.clone()).tools(Desk::default()).build().unwrap();
    agent.chat("Hi").await.unwrap();
    let request = &model.requests()[0];
    let tools = request.tools().as_slice();
    assert_eq!(
        tools.iter().map(|tool| &*tool.name).collect::<Vec<_>>(),
        ["weather", "order-items", "panic", "hang", "whoami", "conceal", "quick"]
    );
    assert_eq!(&*tools[0].description, "Tells the weather.");
    assert_eq!(
        tools[0].parameters.as_ref().unwrap().as_value(),
        &json!({
            "type": "object",
            "properties": {
                "city": { "type": "string", "description": "The city." },
                "unit": {
                    "$ref": "#/$defs/Unit", "description": "The unit", "default": "celsius"
                },
                "days": { "type": ["integer", "null"], "minimum": 0, "maximum": 255 },
            },
            "required": ["city"],
            "propertyOrdering": ["city", "unit", "days"],
            "$defs": {
                "Unit": {
                    "type": "string",
                    "enum": ["fahrenheit", "celsius"],
                    "description": "`celsius`: Degrees Celsius.",
                },
            },
        })
    );
    let order = tools[1].parameters.as_ref().unwrap().as_value();
    assert_eq!(order["properties"]["items"]["items"]["$ref"], "#/$defs/Item");
    assert_eq!(order["$defs"]["Item"]["properties"]["qty"]["description"], "How many.");
    assert_eq!(tools[4].parameters, None, "injected parameters are not in the schema");
}

#[tokio::test]
async fn arguments_are_typed_and_have_defaults() {
    assert_eq!(
        told([
            call("1", "weather", json!({"city": "Oslo"})),
            call("2", "weather", json!({"city": "Rome", "unit": "fahrenheit", "days": 3, "x": 1})),
            call("3", "add", json!({"a": 2, "b": 3.0})),
        ])
        .await,
        [
            ("Oslo Celsius None".to_owned(), false),
            ("Rome Fahrenheit Some(3)".to_owned(), false),
            ("5".to_owned(), false),
        ]
    );
}

#[tokio::test]
async fn failures_are_sent_to_the_model() {
    let results = told([
        call("1", "order-items", json!({"items": [{"qty": 1}, {"qty": "x"}]})),
        call("2", "order-items", json!({})),
        call("3", "order-items", json!({"items": []})),
        call("4", "nope", json!({})),
        call("5", "panic", json!({})),
        call("6", "hang", json!({})),
        call("7", "conceal", json!({})),
        ToolCall::new("8", "add", "{not json"),
    ])
    .await;
    assert!(results.iter().all(|(_, is_error)| *is_error));
    let texts: Vec<&str> = results.iter().map(|(text, _)| text.as_str()).collect();
    assert_eq!(
        texts,
        [
            r#"items[1].qty: expected u32, found "x""#,
            "items: required, but missing",
            "nothing to order",
            "unknown tool `nope`; the available tools are: weather, order-items, panic, hang, whoami, conceal, quick, add",
            "outcome unknown: the tool failed. The call may or may not have taken effect, and was not repeated. Do not repeat it without a check that it had no effect.",
            "outcome unknown: the tool took longer than 20ms and was stopped. The call may or may not have taken effect, and was not repeated. Do not repeat it without a check that it had no effect.",
            "the tool failed",
            "the arguments are not a JSON object: key must be a string at line 1 column 2",
        ]
    );
}

#[tokio::test]
async fn memory_id_and_context_are_injected() {
    let model = calling([call("1", "whoami", json!({}))]);
    let agent = UserAgentService::builder()
        .chat_model(model.clone())
        .chat_memory_provider(|id: &MemoryId| {
            MessageWindowChatMemory::builder().id(id).max_messages(10).build()
        })
        .tools(Arc::new(Desk::default()))
        .build()
        .unwrap();
    agent.chat("klaus", &InvocationContext::new().with(7_u32), "go").await.unwrap();
    assert_eq!(results(&model.messages_of(1)), [("klaus 7".to_owned(), false)]);
}

#[tokio::test]
async fn tool_that_requires_a_memory_id_fails_without_one() {
    let model = calling([call("1", "whoami", json!({}))]);
    let agent = AgentService::builder().chat_model(model).tools(Desk::default()).build().unwrap();
    let error = agent.chat("go").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Tool);
    assert!(error.to_string().contains("no `#[memory_id]`"), "{error}");
}

#[test]
fn duplicate_tool_names_are_rejected_at_build() {
    let error = AgentService::builder()
        .chat_model(ScriptedChatModel::replies(["ok"]))
        .tools(Desk::default())
        .tools(Desk::default())
        .build()
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration);
    assert!(error.to_string().starts_with("tool name `weather` is already taken"), "{error}");
}

#[test]
fn other_methods_of_a_tools_block_are_kept() {
    assert_eq!(Desk::default().helper(), 0);
    assert_eq!(add(1, 2), 3);
}
