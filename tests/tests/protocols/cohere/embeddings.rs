//! Embeddings by Cohere.

use super::{CANARY, golden};
use ai_services::ErrorKind;
use ai_services::model::{EmbeddingModel, EmbeddingPurpose};
use ai_services::providers::cohere::{
    CohereEmbeddingModel, CohereEmbeddingModelBuilder, CohereTruncation,
};
use ai_services_tests::fault_server::{FaultServer, json_answer};
use serde_json::{Value, json};

fn client(server: &FaultServer) -> CohereEmbeddingModelBuilder {
    CohereEmbeddingModel::builder()
        .api_key(CANARY)
        .base_url(server.origin())
        .model("embed-v4.0")
        .max_retries(0)
}

fn embedded(vectors: &Value) -> Vec<u8> {
    json_answer(&json!({
        "id": "5807ee2e", "response_type": "embeddings_by_type", "texts": ["a"],
        "embeddings": { "float": vectors },
        "meta": { "api_version": { "version": "2" }, "billed_units": { "input_tokens": 3 } },
    }))
}

#[tokio::test]
async fn texts_are_embedded_for_a_purpose() {
    for (purpose, name) in [
        (EmbeddingPurpose::Document, "embed_document"),
        (EmbeddingPurpose::Query, "embed_query"),
        (EmbeddingPurpose::Classification, "embed_classification"),
        (EmbeddingPurpose::Clustering, "embed_clustering"),
        (EmbeddingPurpose::Similarity, "embed_clustering"),
    ] {
        let server = FaultServer::answering([embedded(&json!([[0.5, -1], [2e-3, 0]]))]).await;
        let server = server.unwrap();
        let model = client(&server).build().unwrap();
        let embeddings = model.embed(&["a", "b"], purpose).await.unwrap();
        assert_eq!(embeddings.vectors, [[0.5, -1.0], [0.002, 0.0]]);
        assert_eq!(embeddings.usage.input, Some(3));
        let request = server.requests().remove(0);
        assert!(request.head.starts_with("POST /v2/embed HTTP/1.1\r\n"), "{}", request.head);
        assert_eq!(request.json(), golden(name));
    }
}

#[tokio::test]
async fn settings_are_sent() {
    let server = FaultServer::answering([embedded(&json!([[1]]))]).await.unwrap();
    let model =
        client(&server).dimensions(256).truncation(CohereTruncation::Start).build().unwrap();
    assert_eq!(model.dimensions(), Some(256));
    model.embed_query("a").await.unwrap();
    assert_eq!(server.requests()[0].json(), golden("embed_settings"));
}

#[tokio::test]
async fn requests_are_within_the_batch_limit_of_cohere() {
    let vectors: Value = vec![json!([1.0]); 96].into();
    // Concurrent batches need one connection each.
    use ai_services_tests::fault_server::Step::{Request, Send};
    let script = || vec![Request, Send(embedded(&vectors))];
    let server = FaultServer::start([script(), script()]).await.unwrap();
    let model = client(&server).build().unwrap();
    let embeddings = model.embed(&vec!["a"; 192], EmbeddingPurpose::Document).await.unwrap();
    assert_eq!((embeddings.vectors.len(), embeddings.usage.input), (192, Some(6)));
    let sent = server.requests();
    let lengths: Vec<_> =
        sent.iter().map(|request| request.json()["texts"].as_array().unwrap().len()).collect();
    assert_eq!(lengths, [96, 96]);
}

#[tokio::test]
async fn mismatched_answers_are_errors() {
    for body in [
        json!({ "embeddings": { "float": [[1.0]] } }),
        json!({ "embeddings": { "float": [[1.0], [1.0, 2.0]] } }),
        json!({ "embeddings": { "int8": [[1], [2]] } }),
        json!({ "embeddings": { "float": [["a"]] } }),
        json!({ "error": "no" }),
        json!({}),
    ] {
        let server = FaultServer::answering([json_answer(&body)]).await.unwrap();
        let model = client(&server).build().unwrap();
        let error = model.embed(&["a", "b"], EmbeddingPurpose::Document).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidResponse, "{body}: {error}");
    }
}
