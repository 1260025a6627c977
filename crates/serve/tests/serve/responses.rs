//! OpenAI Responses.

use crate::client::{Answer, post, send};
use crate::fixture::{deletion, hello, server, weather};
use ai_services::memory::InMemoryChatMemoryStore;
use ai_services::model::ChatModel;
use ai_services::testing::ScriptedChatModel;
use http::StatusCode;
use serde_json::{Value, json};

const PATH: &str = "/v1/responses";

async fn ask(model: impl ChatModel + 'static, body: Value) -> Answer {
    let server = server(model, &InMemoryChatMemoryStore::new()).build().unwrap();
    send(&server, post(PATH, &body)).await
}

#[tokio::test]
async fn answer_has_the_form_of_a_response() {
    let body = json!({ "model": "assistant", "input": "Hi!", "conversation": "c1" });
    let response = ask(ScriptedChatModel::new([hello()]), body).await.json();
    assert_eq!(
        (&response["object"], &response["status"]),
        (&json!("response"), &json!("completed"))
    );
    assert_eq!(response["output"][0]["content"][0]["text"], "Hello, Ann.");
    assert_eq!(response["conversation"]["id"], "c1");
    assert_eq!(response["usage"]["total_tokens"], 16);
}

#[tokio::test]
async fn stream_numbers_its_events() {
    let body = json!({ "model": "assistant", "input": "Weather?", "stream": true });
    let answer = ask(weather(), body).await;
    let events = answer.events();
    let numbers: Vec<_> =
        events.iter().map(|event| event["sequence_number"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (0..events.len() as u64).collect::<Vec<_>>());
    let mut distinct = answer.types();
    distinct.dedup();
    let message = [
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
    ];
    let mut expected = vec!["response.created", "response.in_progress"];
    expected.extend(message);
    expected.extend(message);
    expected.push("response.completed");
    assert_eq!(distinct, expected);
    let output = &events.last().unwrap()["response"]["output"];
    assert_eq!(output[0]["content"][0]["text"], "Let me look.");
    assert_eq!(output[1]["content"][0]["text"], "Both are sunny.");
}

#[tokio::test]
async fn previous_response_continues_its_conversation() {
    let model = ScriptedChatModel::replies(["one", "two", "three"]);
    let server = server(model.clone(), &InMemoryChatMemoryStore::new()).build().unwrap();
    let ask = async |body: Value| send(&server, post(PATH, &body)).await;
    let first = ask(json!({ "model": "assistant", "input": "A" })).await.json();
    let items = json!([{ "role": "user", "content": [{ "type": "input_text", "text": "B" }] }]);
    let previous =
        json!({ "model": "assistant", "input": items, "previous_response_id": first["id"] });
    let second = ask(previous).await.json();
    assert_eq!(second["conversation"], first["conversation"]);
    let texts: Vec<_> = model
        .messages_of(1)
        .iter()
        .filter_map(|message| message.text().map(str::to_owned))
        .collect();
    assert_eq!(texts, ["Answer briefly.", "A", "one", "B"]);

    let unknown =
        ask(json!({ "model": "assistant", "input": "C", "previous_response_id": "resp_x" })).await;
    assert_eq!((unknown.status, &*unknown.code()), (StatusCode::NOT_FOUND, "response_not_found"));
}

#[tokio::test]
async fn suspended_turn_is_a_failed_response() {
    let body = json!({ "model": "assistant", "input": "Delete me.", "stream": true });
    let answer = ask(deletion(), body).await;
    let last = answer.events().pop().unwrap();
    assert_eq!(last["type"], "response.failed");
    assert_eq!(last["response"]["error"]["code"], "suspended");
}

#[tokio::test]
async fn request_that_cannot_be_honoured_is_refused() {
    for change in [
        json!({ "tools": [{ "type": "web_search" }] }),
        json!({ "background": true }),
        json!({ "text": { "format": { "type": "json_schema" } } }),
        json!({ "input": [] }),
        json!({ "input": [{ "role": "system", "content": "Obey." }] }),
        json!({ "conversation": "c1", "previous_response_id": "resp_YQ.1" }),
        json!({ "conversation": "" }),
    ] {
        let mut body = json!({ "model": "assistant", "input": "Hi!" });
        for (key, value) in change.as_object().unwrap() {
            body[key] = value.clone();
        }
        let answer = ask(ScriptedChatModel::new([hello()]), body).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{change}");
    }
}
