//! Content and memory ids: nothing by default, and the form of the conventions if it is asked for.

use crate::fixture::{Agent, Censor, agent, attribute, export, look_up};
use ai_services::combinators::FallbackModel;
use ai_services::message::{AiMessage, ToolCall};
use ai_services::model::{ChatResponse, FinishReason};
use ai_services::otel::{ContentCapture, MemoryIds, Telemetry};
use ai_services::rag::{Query, RetrievedContent};
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use ai_services::{Error, ErrorKind};
use opentelemetry_sdk::trace::SpanData;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

fn tool_call(argument: &str) -> ScriptedAnswer {
    let arguments = json!({"text": argument}).to_string();
    ScriptedAnswer::tool_calls([ToolCall::new("1", "look_up", arguments)])
}

fn answer(text: &str) -> ScriptedAnswer {
    let message = AiMessage::builder().text(text).thinking("SECRET thinking").build();
    ChatResponse::new(message).with_finish_reason(FinishReason::Stop).into()
}

async fn found(_: Query) -> ai_services::Result<Vec<RetrievedContent>> {
    Ok(vec![RetrievedContent::from("SECRET source").with_score(0.5)])
}

#[tokio::test]
async fn default_export_has_no_content() {
    let exported = export(Telemetry::builder());
    let failing = |text: &'static str| {
        ScriptedChatModel::from_fn(move |_, _| {
            Error::new(ErrorKind::Unavailable, format!("SECRET error {text}")).into()
        })
    };
    let script = ScriptedChatModel::new([
        tool_call("SECRET argument"),
        tool_call("SECRET fail"),
        answer("SECRET answer"),
        answer("SECRET not a number"),
        answer("SECRET still not a number"),
        answer("SECRET never a number"),
    ]);
    let model = FallbackModel::builder().model(failing("first")).model(script).build().unwrap();
    let agent = agent!(
        exported,
        model,
        tools(look_up::tool()),
        content_retriever(found),
        input_guardrail(Censor)
    );
    agent.chat("SECRET@example.com", "SECRET question").await.unwrap();
    agent.count("SECRET@example.com", "SECRET question").await.unwrap_err();
    agent.chat("SECRET@example.com", "SECRET forbidden").await.unwrap_err();
    agent.stream("SECRET@example.com", "SECRET question").collect().await.unwrap();
    exported.meters.force_flush().unwrap();
    let spans = exported.spans();
    assert!(spans.len() > 20, "{}", spans.len());
    let all = format!("{spans:?} {:?}", exported.metrics.get_finished_metrics().unwrap());
    if let Some(at) = all.find("SECRET") {
        panic!("{}", &all[at.saturating_sub(300)..(at + 100).min(all.len())]);
    }
}

fn recorded(span: &SpanData, name: &str) -> Value {
    let text = attribute(span, name).unwrap_or_else(|| panic!("{} has no {name}", span.name));
    serde_json::from_str(&text).unwrap()
}

#[tokio::test]
async fn content_has_the_form_of_the_conventions() {
    let exported =
        export(Telemetry::builder().content(ContentCapture::Attributes { max_bytes: 10_000 }));
    let script = ScriptedChatModel::new([tool_call("tea"), answer("Tea.")]);
    let agent = agent!(exported, script, tools(look_up::tool()), content_retriever(found));
    agent.chat("ann", "Hi!").await.unwrap();
    let spans = exported.spans();
    let find = |name: &str| spans.iter().find(|span| span.name == name).unwrap();
    let last = spans.iter().rfind(|span| span.name == "chat scripted").unwrap();

    let text = |text: &str| json!([{"type": "text", "content": text}]);
    assert_eq!(recorded(last, "gen_ai.system_instructions"), text("SECRET system"));
    let question = "Hi!\n\nAnswer using the following information:\nSECRET source";
    let call = json!({
        "type": "tool_call", "id": "1", "name": "look_up", "arguments": {"text": "tea"},
    });
    let response = json!({
        "type": "tool_call_response", "id": "1", "response": "SECRET result for tea",
    });
    assert_eq!(
        recorded(last, "gen_ai.input.messages"),
        json!([
            {"role": "user", "parts": text(question)},
            {"role": "assistant", "parts": [call]},
            {"role": "tool", "parts": [response]},
        ])
    );
    let output = json!([{
        "role": "assistant",
        "parts": [
            {"type": "reasoning", "content": "SECRET thinking"},
            {"type": "text", "content": "Tea."},
        ],
        "finish_reason": "stop",
    }]);
    assert_eq!(recorded(last, "gen_ai.output.messages"), output);
    let first = find("chat scripted");
    assert_eq!(recorded(first, "gen_ai.output.messages")[0]["finish_reason"], "tool_call");
    let tools = recorded(first, "gen_ai.tool.definitions");
    assert_eq!((&tools[0]["type"], &tools[0]["name"]), (&json!("function"), &json!("look_up")));
    assert_eq!(tools[0]["parameters"]["type"], "object");

    let tool = find("execute_tool look_up");
    assert_eq!(recorded(tool, "gen_ai.tool.call.arguments"), json!({"text": "tea"}));
    assert_eq!(recorded(tool, "gen_ai.tool.call.result"), "SECRET result for tea");
    assert_eq!(
        recorded(find("retrieve"), "gen_ai.retrieval.documents"),
        json!([{"id": "1", "content": "SECRET source", "score": 0.5}])
    );
    let call = find("invoke_agent Agent");
    assert_eq!(recorded(call, "gen_ai.output.messages"), output);
    assert_eq!(recorded(call, "gen_ai.input.messages")[0]["parts"], text("Hi!"));
}

#[tokio::test]
async fn hook_decides_about_content() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let names = Arc::clone(&seen);
    let content = ContentCapture::hook(move |name, value| {
        names.lock().unwrap().push(name.to_owned());
        let count = value.as_array().map(Vec::len);
        (name == "gen_ai.output.messages").then(|| json!({"messages": count}))
    });
    let exported = export(Telemetry::builder().content(content));
    agent!(exported, ScriptedChatModel::replies(["SECRET"])).chat("ann", "SECRET").await.unwrap();
    let spans = exported.spans();
    let chat = spans.iter().find(|span| span.name == "chat scripted").unwrap();
    assert_eq!(recorded(chat, "gen_ai.output.messages"), json!({"messages": 1}));
    assert!(!format!("{spans:?}").contains("SECRET"));
    assert!(seen.lock().unwrap().contains(&"gen_ai.input.messages".to_owned()));
}

#[tokio::test]
async fn memory_ids_are_recorded_on_all_spans_in_the_chosen_form() {
    let cases = [
        (MemoryIds::Plain, Some("ann")),
        (MemoryIds::hashed("key"), Some("*")),
        (MemoryIds::Omitted, None),
    ];
    for (form, expected) in cases {
        let exported = export(Telemetry::builder().memory_ids(form.clone()));
        let script = ScriptedChatModel::new([tool_call("tea"), answer("Tea.")]);
        agent!(exported, script, tools(look_up::tool())).chat("ann", "Hi!").await.unwrap();
        let spans = exported.spans();
        assert_eq!(spans.len(), 6);
        let ids: Vec<_> =
            spans.iter().map(|span| attribute(span, "gen_ai.conversation.id")).collect();
        assert!(ids.iter().all(|id| *id == ids[0]), "{form:?}: {ids:?}");
        match (expected, ids[0].as_deref()) {
            (Some("*"), Some(id)) => assert!(id.len() == 32 && id != "ann", "{id}"),
            (expected, id) => assert_eq!(id, expected, "{form:?}"),
        }
    }
}
