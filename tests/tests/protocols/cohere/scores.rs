//! Re-ranking by Cohere.

use super::{CANARY, golden};
use ai_services::ErrorKind;
use ai_services::model::ScoringModel;
use ai_services::providers::cohere::{CohereScoringModel, CohereScoringModelBuilder};
use ai_services_tests::fault_server::Step::{Request, Send};
use ai_services_tests::fault_server::{FaultServer, answer, json_answer};
use serde_json::{Value, json};
use std::time::Duration;

fn client(server: &FaultServer) -> CohereScoringModelBuilder {
    CohereScoringModel::builder()
        .api_key(CANARY)
        .base_url(server.origin())
        .model("rerank-v3.5")
        .max_retries(0)
        .retry_delay(Duration::from_millis(1))
}

/// An answer with these numbers of documents and scores.
fn ranked(results: &[(u64, f64)]) -> Vec<u8> {
    let results: Vec<_> = results
        .iter()
        .map(|(index, score)| json!({ "index": index, "relevance_score": score }))
        .collect();
    json_answer(&json!({
        "id": "07734bd2", "results": results,
        "meta": { "api_version": { "version": "2" }, "billed_units": { "search_units": 1 } },
    }))
}

#[tokio::test]
async fn scores_come_in_the_order_of_the_documents() {
    let ranked = ranked(&[(2, 0.98), (0, 0.31), (1, 0.007)]);
    let server = FaultServer::answering([ranked]).await.unwrap();
    let scores = client(&server).build().unwrap().score("q?", &["a", "b", "c\n"]).await.unwrap();
    assert_eq!(scores.scores, [0.31, 0.007, 0.98]);
    assert!(scores.usage.is_empty());
    let request = server.requests().remove(0);
    assert!(request.head.starts_with("POST /v2/rerank HTTP/1.1\r\n"), "{}", request.head);
    assert_eq!(request.header("authorization"), Some(format!("Bearer {CANARY}").as_str()));
    assert_eq!(request.json(), golden("rerank"));
}

#[tokio::test]
async fn settings_are_sent() {
    let server = FaultServer::answering([ranked(&[(0, 0.5)])]).await.unwrap();
    let model = client(&server).max_tokens_per_document(512).build().unwrap();
    model.score("q?", &["a"]).await.unwrap();
    assert_eq!(server.requests()[0].json(), golden("rerank_settings"));
}

#[tokio::test]
async fn tokens_are_reported() {
    let meta = json!({ "tokens": { "input_tokens": 25, "output_tokens": 0 } });
    let body = json!({ "results": [{ "index": 0, "relevance_score": 1 }], "meta": meta });
    let server = FaultServer::answering([json_answer(&body)]).await.unwrap();
    let scores = client(&server).build().unwrap().score("q?", &["a"]).await.unwrap();
    assert_eq!((scores.usage.input, scores.usage.output), (Some(25), Some(0)));
}

#[tokio::test]
async fn wrong_number_of_scores_is_an_error() {
    let result = |index: Value, score: Value| json!({ "index": index, "relevance_score": score });
    let (a, b) = (result(0.into(), 0.5.into()), result(1.into(), 0.5.into()));
    for (results, text) in [
        (json!([a]), "no score for document 1"),
        (json!([a, a]), "scores document 0 twice"),
        (json!([a, b, b]), "scores document 1 twice"),
        (json!([a, result(2.into(), 0.5.into())]), "scores document 2"),
        (json!([a, result(1.into(), Value::Null)]), "score of document 1"),
        (json!([a, result(Value::Null, 0.5.into())]), "without a document index"),
        (json!([a, result((-1).into(), 0.5.into())]), "does not follow the protocol"),
        (json!([a, result(1.into(), "NaN".into())]), "does not follow the protocol"),
        (Value::Null, "no scores"),
    ] {
        let body = json!({ "results": results, "meta": { "tokens": { "input_tokens": 9 } } });
        let server = FaultServer::answering([json_answer(&body)]).await.unwrap();
        let error = client(&server).build().unwrap().score("q?", &["a", "b"]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidResponse, "{body}");
        assert!(error.to_string().contains(text), "{error}");
        assert_eq!(error.status(), Some(200));
    }
}

#[tokio::test]
async fn overflowing_score_is_an_error() {
    let body = r#"{"results":[{"index":0,"relevance_score":1e999}]}"#;
    let server = FaultServer::answering([answer(200, &[], body)]).await.unwrap();
    let error = client(&server).build().unwrap().score("q?", &["a"]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidResponse);
}

#[tokio::test]
async fn many_documents_are_scored_in_batches() {
    // Batches are concurrent, each over its own connection. All get the same answer.
    let script = || vec![Request, Send(ranked(&[(1, 0.2), (0, 0.1)]))];
    let server = FaultServer::start([script(), script()]).await.unwrap();
    let model = client(&server).max_batch_documents(2).build().unwrap();
    let scores = model.score("q?", &["a", "b", "c", "d"]).await.unwrap();
    assert_eq!(scores.scores, [0.1, 0.2, 0.1, 0.2]);
    let mut sent: Vec<_> =
        server.requests().iter().map(|request| request.json()["documents"].to_string()).collect();
    sent.sort();
    assert_eq!(sent, [r#"["a","b"]"#, r#"["c","d"]"#]);
}

#[tokio::test]
async fn no_documents_send_no_request() {
    let server = FaultServer::start([]).await.unwrap();
    let scores = client(&server).build().unwrap().score("q?", &[]).await.unwrap();
    assert!(scores.scores.is_empty());
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn temporary_failures_are_retried() {
    let answers = [answer(429, &[("retry-after", "0")], ""), ranked(&[(0, 0.5)])];
    let server = FaultServer::answering(answers).await.unwrap();
    let model = client(&server).max_retries(1).build().unwrap();
    assert_eq!(model.score("q?", &["a"]).await.unwrap().scores, [0.5]);
}

#[tokio::test]
async fn failures_quote_the_provider_but_not_the_key() {
    let body = json!({ "id": "e-1", "message": format!("invalid api token {CANARY}") }).to_string();
    let server = FaultServer::answering([answer(401, &[], body)]).await.unwrap();
    let model = client(&server).build().unwrap();
    let error = model.score("q?", &["a"]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Authentication);
    assert!(error.to_string().contains("invalid api token [secret]"), "{error}");
    let builder = client(&server);
    for text in [format!("{error:?}"), format!("{model:?}"), format!("{builder:?}")] {
        assert!(!text.contains(CANARY), "{text}");
    }
}
