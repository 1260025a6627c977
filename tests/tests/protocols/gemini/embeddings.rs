//! Embeddings.

use super::CANARY;
use ai_services::ErrorKind;
use ai_services::model::{EmbeddingModel, EmbeddingPurpose};
use ai_services::providers::gemini::{GeminiEmbeddingModel, GeminiEmbeddingModelBuilder};
use ai_services_tests::fault_server::Step::{Request, Send};
use ai_services_tests::fault_server::{FaultServer, answer, json_answer};
use serde_json::{Value, json};

fn client(server: &FaultServer) -> GeminiEmbeddingModelBuilder {
    GeminiEmbeddingModel::builder()
        .api_key(CANARY)
        .base_url(format!("{}/v1beta", server.origin()))
        .model("gemini-embedding-001")
        .max_retries(0)
}

/// An answer of vectors that begin with these numbers.
fn vectors(first: impl IntoIterator<Item = usize>) -> Vec<u8> {
    let embeddings: Vec<Value> =
        first.into_iter().map(|first| json!({ "values": [first, 0.5] })).collect();
    json_answer(&json!({ "embeddings": embeddings, "usageMetadata": { "promptTokenCount": 3 } }))
}

#[tokio::test]
async fn texts_are_sent_with_their_purpose() {
    let server = FaultServer::answering([vectors(0..2)]).await.unwrap();
    let model = client(&server).dimensions(768).build().unwrap();
    let embeddings = model.embed(&["a", "é \""], EmbeddingPurpose::Document).await.unwrap();
    assert_eq!(embeddings.vectors, [[0.0, 0.5], [1.0, 0.5]]);
    assert_eq!(embeddings.usage.input, Some(3));
    let recorded = server.requests().remove(0);
    let path = "POST /v1beta/models/gemini-embedding-001:batchEmbedContents HTTP/1.1\r\n";
    assert!(recorded.head.starts_with(path), "{}", recorded.head);
    assert_eq!(recorded.header("x-goog-api-key"), Some(CANARY));
    let request = |text: &str| {
        json!({ "model": "models/gemini-embedding-001", "content": { "parts": [{ "text": text }] },
            "taskType": "RETRIEVAL_DOCUMENT", "outputDimensionality": 768 })
    };
    assert_eq!(recorded.json(), json!({ "requests": [request("a"), request("é \"")] }));
    assert_eq!((model.dimensions(), model.name()), (Some(768), "gemini-embedding-001"));
}

#[tokio::test]
async fn every_purpose_has_its_task() {
    let purposes = [
        (EmbeddingPurpose::Query, "RETRIEVAL_QUERY", "task: search result | query: a"),
        (EmbeddingPurpose::Document, "RETRIEVAL_DOCUMENT", "title: none | text: a"),
        (EmbeddingPurpose::Classification, "CLASSIFICATION", "task: classification | query: a"),
        (EmbeddingPurpose::Clustering, "CLUSTERING", "task: clustering | query: a"),
        (
            EmbeddingPurpose::Similarity,
            "SEMANTIC_SIMILARITY",
            "task: sentence similarity | query: a",
        ),
    ];
    for (purpose, task, words) in purposes {
        let server =
            FaultServer::start([(); 2].map(|()| vec![Request, Send(vectors(0..1))])).await.unwrap();
        client(&server).build().unwrap().embed(&["a"], purpose).await.unwrap();
        let newer = client(&server).model("gemini-embedding-2").build().unwrap();
        newer.embed(&["a"], purpose).await.unwrap();
        let [older, newer] =
            [0, 1].map(|index| server.requests()[index].json()["requests"][0].take());
        assert_eq!(
            (&older["taskType"], &older["content"]["parts"][0]["text"]),
            (&json!(task), &json!("a"))
        );
        assert_eq!(
            (&newer["taskType"], &newer["content"]["parts"][0]["text"]),
            (&json!(null), &json!(words))
        );
    }
}

#[tokio::test]
async fn many_texts_are_requested_in_batches_and_stay_in_order() {
    let answers = [vectors(0..100), vectors(100..200), vectors(200..201)];
    let server = FaultServer::answering(answers).await.unwrap();
    let texts: Vec<_> = (0..201).map(|number| number.to_string()).collect();
    let texts: Vec<_> = texts.iter().map(String::as_str).collect();
    let model = client(&server).build().unwrap();
    let embeddings = model.embed(&texts, EmbeddingPurpose::Query).await.unwrap();
    let first: Vec<_> = embeddings.vectors.iter().map(|vector| vector[0] as usize).collect();
    assert_eq!(first, (0..201).collect::<Vec<_>>());
    assert_eq!(embeddings.usage.input, Some(9));
    let sizes = server
        .requests()
        .iter()
        .map(|r| r.json()["requests"].as_array().unwrap().len())
        .collect::<Vec<_>>();
    assert_eq!(sizes, [100, 100, 1]);
    assert_eq!(server.requests()[1].json()["requests"][0]["content"]["parts"][0]["text"], "100");
}

#[tokio::test]
async fn no_texts_send_no_request() {
    let server = FaultServer::answering([]).await.unwrap();
    let embeddings =
        client(&server).build().unwrap().embed(&[], EmbeddingPurpose::Query).await.unwrap();
    assert!(embeddings.vectors.is_empty());
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn missing_vectors_and_failures_are_errors_with_usage() {
    let texts = vec!["a"; 101];
    let failure = answer(500, &[], r#"{"error":{"code":500,"message":"no","status":"INTERNAL"}}"#);
    for (last, kind) in [
        (failure, ErrorKind::Unavailable),
        (vectors([]), ErrorKind::InvalidResponse),
        (json_answer(&json!({ "embeddings": [{ "values": [] }] })), ErrorKind::InvalidResponse),
        (
            json_answer(&json!({ "error": { "code": 429, "message": "no" } })),
            ErrorKind::RateLimited,
        ),
    ] {
        let server = FaultServer::answering([vectors(0..100), last]).await.unwrap();
        let model = client(&server).build().unwrap();
        let error = model.embed(&texts, EmbeddingPurpose::Query).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.usage().unwrap().input >= Some(3), "{error:?}");
    }
}
