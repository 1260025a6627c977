//! Re-ranking by Cohere-compatible servers.

use super::golden;
use ai_services::ErrorKind;
use ai_services::model::ScoringModel;
use ai_services::providers::cohere::{RerankDialect, RerankModel, RerankModelBuilder};
use ai_services_tests::fault_server::{FaultServer, answer, json_answer};
use serde_json::{Value, json};

fn client(server: &FaultServer) -> RerankModelBuilder {
    RerankModel::builder().base_url(server.url()).max_retries(0)
}

async fn scores(body: &Value) -> ai_services::Result<Vec<f64>> {
    let server = FaultServer::answering([json_answer(body)]).await.unwrap();
    Ok(client(&server).build()?.score("q?", &["a", "b"]).await?.scores)
}

#[tokio::test]
async fn documents_are_sent_but_not_requested_back() {
    let body = json!({
        "model": "jina-reranker-v2-base-multilingual", "object": "list",
        "usage": { "total_tokens": 15 },
        "results": [
            { "index": 1, "relevance_score": 0.87 }, { "index": 0, "relevance_score": 0.12 },
        ],
    });
    let server = FaultServer::answering([json_answer(&body)]).await.unwrap();
    let model = client(&server).api_key("key").model("jina-reranker-v2-base-multilingual");
    let scores = model.build().unwrap().score("q?", &["a", "b"]).await.unwrap();
    assert_eq!(scores.scores, [0.12, 0.87]);
    assert_eq!(scores.model.as_deref(), Some("jina-reranker-v2-base-multilingual"));
    assert_eq!(scores.usage.total(), Some(15));
    let request = server.requests().remove(0);
    assert!(request.head.starts_with("POST /v1/rerank HTTP/1.1\r\n"), "{}", request.head);
    assert_eq!(request.header("authorization"), Some("Bearer key"));
    assert_eq!(request.json(), golden("documents"));
}

#[tokio::test]
async fn texts_are_sent_if_configured() {
    let body = json!([{ "index": 1, "score": 0.99 }, { "index": 0, "score": 1e-5 }]);
    let server = FaultServer::answering([json_answer(&body)]).await.unwrap();
    let model = RerankModel::builder()
        .base_url(server.origin())
        .dialect(RerankDialect::Texts)
        .extra("truncate", true)
        .extra("raw_scores", false);
    let scores = model.build().unwrap().score("q?", &["a", "b"]).await.unwrap();
    assert_eq!(scores.scores, [1e-5, 0.99]);
    let request = server.requests().remove(0);
    assert!(request.head.starts_with("POST /rerank HTTP/1.1\r\n"), "{}", request.head);
    assert_eq!(request.json(), golden("texts"));
}

#[tokio::test]
async fn answers_are_read_in_every_form() {
    let llama_cpp = json!({
        "model": "bge-reranker", "object": "list",
        "usage": { "prompt_tokens": 50, "total_tokens": 50 },
        "results": [
            { "index": 0, "relevance_score": -8.68 }, { "index": 1, "relevance_score": 4.02 },
        ],
    });
    assert_eq!(scores(&llama_cpp).await.unwrap(), [-8.68, 4.02]);
    let voyage = json!({
        "object": "list", "model": "rerank-2", "usage": { "total_tokens": 26 },
        "data": [{ "relevance_score": 0.6, "index": 1 }, { "relevance_score": 0.4, "index": 0 }],
    });
    assert_eq!(scores(&voyage).await.unwrap(), [0.4, 0.6]);
    let vllm = json!({
        "id": "rerank-1", "model": "m", "usage": { "total_tokens": 56 },
        "results": [
            { "index": 0, "document": { "text": "a" }, "relevance_score": 0.99 },
            { "index": 1, "document": { "text": "b" }, "relevance_score": 0.0003 },
        ],
    });
    assert_eq!(scores(&vllm).await.unwrap(), [0.99, 0.0003]);
}

#[tokio::test]
async fn all_documents_are_in_one_request_by_default() {
    let results: Vec<_> = (0..2000).map(|index| json!({ "index": index, "score": 1 })).collect();
    let server = FaultServer::answering([json_answer(&results.into())]).await.unwrap();
    let documents = vec!["a"; 2000];
    let scores = client(&server).build().unwrap().score("q?", &documents).await.unwrap();
    assert_eq!((scores.scores.len(), server.requests().len()), (2000, 1));
}

#[tokio::test]
async fn invalid_scores_are_an_error() {
    for (body, text) in [
        (json!([{ "index": 0, "score": 1 }]), "no score for document 1"),
        (json!({ "error": "no such model" }), "no such model"),
        (json!([]), "no score for document 0"),
        (json!({}), "no scores"),
        (json!("x"), "not JSON"),
    ] {
        let error = scores(&body).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidResponse);
        assert!(error.to_string().contains(text), "{error}");
    }
}

#[tokio::test]
async fn too_large_batch_is_rejected_by_the_server() {
    let said = "batch size 33 > maximum allowed batch size 32";
    let body = json!({ "error": said, "error_type": "Validation" }).to_string();
    let server = FaultServer::answering([answer(422, &[], body)]).await.unwrap();
    let error = client(&server).build().unwrap().score("q?", &["a"]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidRequest);
    assert!(error.to_string().ends_with(said), "{error}");
}

#[tokio::test]
async fn server_url_is_required() {
    let error = RerankModel::builder().model("m").build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration);
    assert!(error.to_string().contains("`base_url`"), "{error}");
}
