//! Embeddings.

use super::golden;
use ai_services::ErrorKind;
use ai_services::model::{EmbeddingModel, EmbeddingPurpose};
use ai_services::providers::ollama::{
    KeepAlive, OllamaEmbeddingModel, OllamaEmbeddingModelBuilder, OllamaTruncation,
};
use ai_services_tests::fault_server::Step::{Request, Send};
use ai_services_tests::fault_server::{FaultServer, answer, json_answer};
use serde_json::{Value, json};
use std::time::Duration;

fn client(server: &FaultServer) -> OllamaEmbeddingModelBuilder {
    OllamaEmbeddingModel::builder().base_url(server.origin()).model("e").max_retries(0)
}

fn vectors(vectors: &Value) -> Vec<u8> {
    json_answer(&json!({ "model": "e:latest", "embeddings": vectors, "total_duration": 1,
        "load_duration": 1, "prompt_eval_count": 3 }))
}

#[tokio::test]
async fn texts_are_embedded_in_one_request() {
    let server = FaultServer::answering([vectors(&json!([[0.5, -1], [0.25, 1e-3]]))]).await;
    let server = server.unwrap();
    let model = client(&server).build().unwrap();
    let embeddings = model.embed(&["a", "b\n"], EmbeddingPurpose::Document).await.unwrap();
    assert_eq!(embeddings.vectors, [[0.5, -1.0], [0.25, 0.001]]);
    assert_eq!(embeddings.usage.input, Some(3));
    assert_eq!(embeddings.model.as_deref(), Some("e:latest"));
    let request = server.requests().remove(0);
    assert!(request.head.starts_with("POST /api/embed HTTP/1.1\r\n"), "{}", request.head);
    assert_eq!(request.json(), golden("embed"));
}

#[tokio::test]
async fn settings_are_sent() {
    let server = FaultServer::answering([vectors(&json!([[1.0]]))]).await.unwrap();
    let model = client(&server)
        .truncation(OllamaTruncation::Disabled)
        .dimensions(256)
        .keep_alive(KeepAlive::For(Duration::from_secs(300)))
        .option("num_ctx", 2048);
    let model = model.build().unwrap();
    assert_eq!((model.embed_query("a").await.unwrap(), model.dimensions()), (vec![1.0], Some(256)));
    assert_eq!(server.requests()[0].json(), golden("embed_settings"));
}

#[tokio::test]
async fn many_texts_are_embedded_in_batches() {
    // Two batches are requested concurrently, each over its own connection.
    let script = |vector: Value| vec![Request, Send(vectors(&vector))];
    let scripts = [script(json!([[7], [7]])), script(json!([[7], [7]]))];
    let server = FaultServer::start(scripts).await.unwrap();
    let model = client(&server).max_batch_texts(2).build().unwrap();
    let embeddings = model.embed(&["a", "b", "c", "d"], EmbeddingPurpose::Document).await.unwrap();
    assert_eq!((embeddings.vectors.len(), embeddings.usage.input), (4, Some(6)));
    let mut sent: Vec<_> =
        server.requests().iter().map(|request| request.json()["input"].to_string()).collect();
    sent.sort();
    assert_eq!(sent, [r#"["a","b"]"#, r#"["c","d"]"#]);
}

#[tokio::test]
async fn mismatched_answers_are_errors() {
    for body in [json!([[1.0]]), json!([]), json!([[1.0], [1.0, 2.0]]), json!(7), Value::Null] {
        let server = FaultServer::answering([vectors(&body)]).await.unwrap();
        let model = client(&server).build().unwrap();
        let error = model.embed(&["a", "b"], EmbeddingPurpose::Document).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidResponse, "{body}: {error}");
    }
}

#[tokio::test]
async fn missing_model_error_has_a_hint() {
    let missing = answer(404, &[], json!({ "error": "model \"e\" not found" }).to_string());
    let tags = json_answer(&json!({ "models": [{ "name": "llama3.2:latest" }] }));
    let server = FaultServer::answering([missing, tags]).await.unwrap();
    let error = client(&server).build().unwrap().embed_query("a").await.unwrap_err();
    let text = error.to_string();
    assert!(text.contains("`ollama pull e`") && text.contains("`llama3.2:latest`"), "{text}");
}

#[tokio::test]
async fn no_texts_send_no_request() {
    let server = FaultServer::start([]).await.unwrap();
    let model = client(&server).build().unwrap();
    let embeddings = model.embed(&[], EmbeddingPurpose::Document).await.unwrap();
    assert!(embeddings.vectors.is_empty());
    assert_eq!(server.connections(), 0);
}
