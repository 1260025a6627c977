//! Parameters of requests.

use super::{check, client, hello, sent};
use ai_services::ErrorKind;
use ai_services::message::ChatMessage;
use ai_services::model::{
    Capability, ChatModel, ChatRequest, ChatRequestParameters, ReasoningEffort, ResponseFormat,
    ToolChoice, ToolSpecification,
};
use ai_services::output::Shape;
use ai_services::providers::anthropic::{ParallelToolCalls, Thinking};
use ai_services::schema::JsonSchema;
use ai_services_tests::fault_server::FaultServer;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::HashMap;

fn with(parameters: ChatRequestParameters) -> ChatRequest {
    ChatRequest::builder().messages([ChatMessage::user("Hello!")]).parameters(parameters).build()
}

fn with_tools(parameters: ChatRequestParameters) -> ChatRequest {
    let schema = json!({
        "type": "object",
        "properties": { "a": { "type": "string" }, "z": { "type": "integer" } },
        "required": ["z"],
        "propertyOrdering": ["z", "a"],
    });
    let tool = ToolSpecification::new("look", "Looks.").with_parameters(schema.try_into().unwrap());
    ChatRequest::builder()
        .messages([ChatMessage::user("Hello!")])
        .tools(vec![tool, ToolSpecification::new("now", "")])
        .parameters(parameters)
        .build()
}

#[tokio::test]
async fn every_parameter_has_its_member() {
    let parameters = ChatRequestParameters::new()
        .model("other")
        .temperature(0.5)
        .top_p(0.9)
        .top_k(40)
        .max_output_tokens(99)
        .stop(["END", "STOP"])
        .reasoning_effort(ReasoningEffort::Minimal)
        .frequency_penalty(0.0)
        .extra("metadata", json!({ "user_id": "u-1" }));
    check("parameters", &with(parameters), |builder| builder).await;
}

#[tokio::test]
async fn parameters_of_the_request_win() {
    let own = ChatRequestParameters::new().temperature(1.0);
    let defaults = ChatRequestParameters::new().temperature(0.1).max_output_tokens(7);
    let body = sent(&with(own), |builder| builder.parameters(defaults)).await.json();
    assert_eq!((&body["temperature"], &body["max_tokens"]), (&json!(1.0), &json!(7)));
}

#[tokio::test]
async fn unsupported_parameters_are_rejected() {
    let server = FaultServer::answering([]).await.unwrap();
    let new = ChatRequestParameters::new;
    let parameters = [
        (new().seed(1), "seed"),
        (new().frequency_penalty(0.1), "frequency_penalty"),
        (new().presence_penalty(-1.0), "presence_penalty"),
    ];
    for (parameters, name) in parameters {
        let by_default = client(&server).parameters(parameters.clone()).build().unwrap();
        let plain = client(&server).build().unwrap();
        for result in [by_default.chat(&hello()).await, plain.chat(&with(parameters)).await] {
            let error = result.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported);
            assert!(error.to_string().contains(name), "{error}");
        }
    }
    assert_eq!(server.connections(), 0);
    let parameters = new().seed(1).extra("seed", 2);
    assert_eq!(sent(&with(parameters), |builder| builder).await.json()["seed"], 2);
}

#[tokio::test]
async fn extra_members_win() {
    let parameters = ChatRequestParameters::new()
        .temperature(0.5)
        .tool_choice(ToolChoice::Required)
        .extra("temperature", 1)
        .extra("system", "Mine.")
        .extra("tools", json!([{ "type": "web_search_20250305", "name": "web_search" }]))
        .extra("tool_choice", json!({ "type": "auto" }));
    let mut request = with_tools(parameters.clone());
    check("extra", &request, |builder| builder).await;
    let messages = json!([{ "role": "user", "content": "Other." }]);
    request = with_tools(parameters.extra("messages", messages.clone()));
    let body = sent(&request, |builder| builder).await.json();
    assert_eq!(body["messages"], messages);
}

#[tokio::test]
async fn tools_are_sent_in_the_order_of_declaration() {
    check("tools", &with_tools(ChatRequestParameters::new()), |builder| builder).await;
    let body = sent(&with_tools(ChatRequestParameters::new()), |builder| builder).await.body;
    let body = String::from_utf8(body).unwrap();
    assert!(body.find(r#""z":{"#).unwrap() < body.find(r#""a":{"#).unwrap(), "{body}");
}

#[tokio::test]
async fn tool_choice_is_translated() {
    let choices = [
        (ToolChoice::Auto, json!({ "type": "auto" })),
        (ToolChoice::None, json!({ "type": "none" })),
        (ToolChoice::Required, json!({ "type": "any" })),
        (ToolChoice::Tool("look".into()), json!({ "type": "tool", "name": "look" })),
    ];
    for (choice, expected) in choices {
        let parameters = ChatRequestParameters::new().tool_choice(choice.clone());
        let body = sent(&with_tools(parameters.clone()), |builder| builder).await.json();
        assert_eq!(body["tool_choice"], expected);
        let one = |builder: ai_services::providers::anthropic::AnthropicChatModelBuilder| {
            builder.parallel_tool_calls(ParallelToolCalls::Disabled)
        };
        let body = sent(&with_tools(parameters.clone()), one).await.json();
        let mut expected = expected;
        if choice != ToolChoice::None {
            expected["disable_parallel_tool_use"] = true.into();
        }
        assert_eq!(body["tool_choice"], expected);
        let body = sent(&with(parameters), |builder| builder).await.json();
        assert_eq!(body.get("tool_choice"), None, "without tools");
    }
}

#[tokio::test]
async fn one_call_at_a_time_needs_no_choice() {
    let request = with_tools(ChatRequestParameters::new());
    let disabled = ParallelToolCalls::Disabled;
    check("one_call", &request, |b| b.parallel_tool_calls(disabled)).await;
    let body = sent(&hello(), |b| b.parallel_tool_calls(disabled)).await.json();
    assert_eq!(body.get("tool_choice"), None);
}

#[tokio::test]
async fn thinking_is_requested() {
    check("thinking_budget", &hello(), |b| b.thinking(Thinking::Budget(2048))).await;
    let high = ChatRequestParameters::new().reasoning_effort(ReasoningEffort::High);
    check("thinking_adaptive", &with(high), |b| b.thinking(Thinking::Adaptive)).await;
    check("thinking_disabled", &hello(), |b| b.thinking(Thinking::Disabled)).await;
}

#[tokio::test]
async fn thinking_excludes_forced_tool_calls() {
    let server = FaultServer::answering([]).await.unwrap();
    let client = client(&server).thinking(Thinking::Adaptive).build().unwrap();
    let parameters = ChatRequestParameters::new().tool_choice(ToolChoice::Required);
    let error = client.chat(&with_tools(parameters)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "only the schema is used")]
struct Review {
    /// What speaks for it.
    reasons: Vec<String>,
    stars: u8,
    author: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "only the schema is used")]
struct Prices {
    by_name: HashMap<String, f64>,
}

fn format<T: JsonSchema>() -> ChatRequestParameters {
    let shape = Shape::of::<T>();
    let (name, schema) = shape.schema().unwrap();
    let (name, schema) = (name.into(), Box::new(schema.clone()));
    ChatRequestParameters::new().response_format(ResponseFormat::JsonSchema { name, schema })
}

async fn sent_by_schema(parameters: ChatRequestParameters) -> Vec<u8> {
    let request = ChatRequest::builder()
        .system("Be brief.")
        .messages([ChatMessage::user("Hello!")])
        .parameters(parameters)
        .build();
    let server = FaultServer::answering([]).await.unwrap();
    let able = client(&server).build().unwrap().capabilities();
    let able = able.with(Capability::JsonSchema);
    sent(&request, |builder| builder.capabilities(able)).await.body
}

#[tokio::test]
async fn schema_is_sent_in_the_enforced_subset() {
    let low = ReasoningEffort::Low;
    let body = sent_by_schema(format::<Review>().reasoning_effort(low)).await;
    let json: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(json, super::golden("schema"), "{json:#}");
    let text = String::from_utf8(body).unwrap();
    let at = |name: &str| text.find(&format!("\"{name}\":{{")).unwrap();
    assert!(at("reasons") < at("stars") && at("stars") < at("author"), "{text}");
}

#[tokio::test]
async fn unenforceable_schema_is_sent_as_a_prompt() {
    let body = sent_by_schema(format::<Prices>()).await;
    let json: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(json, super::golden("schema_told"), "{json:#}");
}

#[tokio::test]
async fn json_without_a_schema_is_not_offered() {
    let server = FaultServer::answering([]).await.unwrap();
    let able = client(&server).build().unwrap().capabilities();
    let client = client(&server).capabilities(able.with(Capability::JsonObject)).build().unwrap();
    let parameters = ChatRequestParameters::new().response_format(ResponseFormat::JsonObject);
    let error = client.chat(&with(parameters)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
}
