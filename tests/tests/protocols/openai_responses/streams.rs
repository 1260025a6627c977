//! Streamed answers.

use super::{call, client, hello, response, said, thought};
use ai_services::ErrorKind;
use ai_services::fuzzing::{responses_events, summary};
use ai_services::model::{ChatModel, ChatResponse, FinishReason, ModelStreamEvent, PartialAnswer};
use ai_services_tests::fault_server::{FaultServer, events_answer, json_answer};
use futures_util::StreamExt;
use serde_json::{Value, json};

const TOOLS: &str = include_str!("streams/openai_tools.sse");
const INCOMPLETE: &str = include_str!("streams/incomplete.sse");
const SEARCH: &str = include_str!("streams/search.sse");

fn events(events: &[Value]) -> String {
    events.iter().map(|event| format!("data: {event}\n\n")).collect()
}

/// Returns the answer and its text pieces. Asserts that the pieces add up to the answer.
fn completed(body: &str) -> ChatResponse {
    let events = responses_events([body.into()]);
    summary(&events);
    match events.into_iter().last().unwrap().unwrap() {
        ModelStreamEvent::Completed(response) => *response,
        event => unreachable!("{event:?}"),
    }
}

fn failed(body: &str) -> ai_services::Error {
    let events = responses_events([body.into()]);
    summary(&events);
    events.into_iter().last().unwrap().unwrap_err()
}

fn text(delta: &str) -> Value {
    json!({ "type": "response.output_text.delta", "output_index": 0, "delta": delta })
}

#[allow(clippy::needless_pass_by_value, reason = "literals are easier to give so")]
fn end(output: Value) -> Value {
    json!({ "type": "response.completed", "response": response(&output) })
}

fn kept(response: &ChatResponse) -> Option<Value> {
    let content = response.message.provider_content()?;
    Some(serde_json::from_str(content.json()).unwrap())
}

#[tokio::test]
async fn stream_over_http_is_read() {
    let server = FaultServer::answering([events_answer(TOOLS)]).await.unwrap();
    let model = client(&server).build().unwrap();
    let events: Vec<_> = model.stream(&hello()).collect().await;
    let summary = summary(&events);
    assert_eq!(summary.error, None);
    assert_eq!(summary.calls[1].2, r#"{"city":"Rio"}"#);
    assert_eq!(server.requests()[0].json()["stream"], true);
}

#[tokio::test]
async fn whole_answer_instead_of_a_stream_is_one_piece() {
    let whole = json_answer(&response(&json!([said("Hi.")])));
    let server = FaultServer::answering([whole]).await.unwrap();
    let model = client(&server).build().unwrap();
    let events: Vec<_> = model.stream(&hello()).collect().await;
    assert!(matches!(&events[0], Ok(ModelStreamEvent::Text(text)) if text == "Hi."));
    assert!(matches!(&events[1], Ok(ModelStreamEvent::Completed(_))));
}

#[test]
fn items_of_the_last_event_are_kept() {
    let response = completed(TOOLS);
    assert_eq!(response.finish_reason, Some(FinishReason::ToolExecution));
    let kept = kept(&response).unwrap();
    assert_eq!(kept[0]["encrypted_content"], "gAAAAABencrypted==");
    assert_eq!(kept.as_array().unwrap().len(), 3);
    let search = completed(SEARCH);
    assert_eq!(search.message.provider_content().map(|_| ()), Some(()));
    assert_eq!(search.finish_reason, Some(FinishReason::Stop));
}

#[test]
fn incomplete_answer_has_the_finish_reason() {
    let response = completed(INCOMPLETE);
    assert_eq!(response.finish_reason, Some(FinishReason::Length));
    assert_eq!(response.message.text(), Some("Once upon"));
}

#[test]
fn earlier_items_replace_items_missing_in_the_last_event() {
    let done = |item: Value| json!({ "type": "response.output_item.done", "item": item });
    let output = [thought("Hm"), said("Hi."), call("c1", "now", "{}")];
    let [a, b, c] = output.clone().map(done);
    for last in [end(json!([])), end(Value::Null), json!({ "type": "response.completed" })] {
        let response = completed(&events(&[a.clone(), b.clone(), c.clone(), last]));
        assert_eq!(response.message.text(), Some("Hi."));
        assert_eq!(response.message.thinking(), Some("Hm"));
        assert_eq!(response.message.tool_calls()[0].id(), "c1");
        assert_eq!(kept(&response), Some(json!(output)));
    }
}

#[test]
fn content_of_only_the_last_event_is_delivered() {
    let output = json!([thought("Hm"), said("Hi."), call("c1", "now", "{}")]);
    for begin in [vec![], vec![text("H")], vec![text("Hi.")]] {
        let response = completed(&events(&[begin, vec![end(output.clone())]].concat()));
        assert_eq!(response.message.text(), Some("Hi."));
        assert_eq!(kept(&response).as_ref(), Some(&output));
    }
}

#[test]
fn pieces_win_over_a_contradicting_last_event() {
    let output = json!([thought("Hm"), said("Good bye.")]);
    let response = completed(&events(&[text("Hello"), end(output)]));
    assert_eq!(response.message.text(), Some("Hello"));
    assert_eq!(response.message.provider_content(), None);
    let one = json!({ "type": "response.output_item.added", "item": call("c1", "now", "{}") });
    let response = completed(&events(&[one, end(json!([call("c2", "now", "{}")]))]));
    assert_eq!(response.message.tool_calls().len(), 1);
    assert_eq!(response.message.tool_calls()[0].id(), "c1");
}

#[test]
fn duplicate_thoughts_are_distinguished_from_thoughts_and_summary() {
    let delta = |kind: &str, text: &str| json!({ "type": format!("response.{kind}.delta"), "output_index": 0, "delta": text });
    let output = json!([{ "type": "reasoning", "encrypted_content": "x",
        "summary": [{ "type": "summary_text", "text": "short" }],
        "content": [{ "type": "reasoning_text", "text": "long" }] }, said("Hi.")]);
    let body = events(&[
        delta("reasoning_summary_text", "short"),
        delta("reasoning_text", "long"),
        end(output.clone()),
    ]);
    let response = completed(&body);
    assert_eq!(response.message.thinking(), Some("short"));
    assert_eq!(kept(&response), Some(output));
}

#[test]
fn calls_are_assembled_with_any_ids() {
    let mut begun = call("c1", "now", "");
    begun["id"] = "other".into();
    let added = json!({ "type": "response.output_item.added", "output_index": 1, "item": begun });
    let piece = |piece: &str, extra: Value| {
        let mut event = json!({ "type": "response.function_call_arguments.delta", "delta": piece });
        event.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        event
    };
    let places = [
        json!({ "output_index": 1, "item_id": "changes" }),
        json!({ "item_id": "other" }),
        json!({}),
    ];
    for place in places {
        let done = call("c1", "now", r#"{"a":1}"#);
        let body = events(&[
            added.clone(),
            piece("{\"a\"", place.clone()),
            piece(":1}", place.clone()),
            json!({ "type": "response.output_item.done", "output_index": 1, "item": done }),
            end(json!([done])),
        ]);
        let response = completed(&body);
        let calls = response.message.tool_calls();
        assert_eq!((calls.len(), calls[0].arguments()), (1, r#"{"a":1}"#), "{place}");
    }
}

#[test]
fn refusal_is_read() {
    let refusal = |delta: &str| json!({ "type": "response.refusal.delta", "delta": delta });
    let response = completed(&events(&[refusal("I can"), refusal("not."), end(json!([]))]));
    assert_eq!(response.message.refusal(), Some("I cannot."));
}

#[test]
fn failures_keep_the_partial_answer_and_its_usage() {
    let inner = json!({ "id": "r", "status": "failed", "output": [],
        "error": { "code": "rate_limit_exceeded", "message": "slow down" },
        "usage": { "input_tokens": 3, "output_tokens": 1 } });
    let cases = [
        (json!({ "type": "response.failed", "response": inner }), ErrorKind::RateLimited),
        (
            json!({ "type": "error", "code": "server_error", "message": "x" }),
            ErrorKind::Unavailable,
        ),
        (json!({ "error": { "code": "server_error", "message": "x" } }), ErrorKind::Unavailable),
        (
            json!({ "type": "error", "error": { "type": "invalid_request_error", "message": "x" } }),
            ErrorKind::InvalidRequest,
        ),
        (json!({ "type": "response.failed", "response": {} }), ErrorKind::Unavailable),
        (json!({ "type": "response.cancelled", "response": {} }), ErrorKind::InvalidResponse),
        (json!({ "type": "response.completed", "response": 7 }), ErrorKind::InvalidResponse),
    ];
    for (event, expected) in cases {
        let error = failed(&events(&[text("Hel"), event.clone()]));
        assert_eq!(error.kind(), expected, "{event}: {error}");
        assert_eq!(error.detail::<PartialAnswer>().unwrap().text, "Hel");
        if event["response"]["usage"].is_object() {
            assert_eq!(error.usage().unwrap().input, Some(3));
        }
    }
}

#[test]
fn end_mark_without_a_last_event_is_truncation() {
    for body in ["", "data: [DONE]\n\n"] {
        let error = failed(&(events(&[text("Hel")]) + body));
        assert_eq!(error.kind(), ErrorKind::InvalidResponse);
        assert!(error.to_string().contains("cut off"), "{error}");
    }
}

#[test]
fn too_many_calls_are_rejected() {
    let added = |index: usize| {
        json!({ "type": "response.output_item.added", "output_index": index,
        "item": { "type": "function_call", "call_id": format!("c{index}"), "name": "now" } })
    };
    let many: Vec<_> = (0..129).map(added).collect();
    assert_eq!(failed(&events(&many)).kind(), ErrorKind::InvalidResponse);
    let at_once: Vec<_> = (0..129).map(|n| call(&format!("c{n}"), "now", "{}")).collect();
    let error = failed(&events(&[end(json!(at_once))]));
    assert_eq!(error.kind(), ErrorKind::InvalidResponse);
}

#[test]
fn unknown_events_are_ignored() {
    let unknown = [
        json!({ "type": "response.invented", "delta": { "x": 1 }, "item": 7 }),
        json!({ "type": "response.audio.delta", "delta": "AAAA" }),
        json!({}),
    ];
    let body = events(&[&unknown[..], &[text("Hi."), end(json!([said("Hi.")]))]].concat());
    assert_eq!(completed(&body).message.text(), Some("Hi."));
}
