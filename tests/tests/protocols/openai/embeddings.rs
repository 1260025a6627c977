//! Embeddings.

use super::CANARY;
use ai_services::ErrorKind;
use ai_services::model::{EmbeddingModel, EmbeddingPurpose, Embeddings};
use ai_services::providers::openai::{OpenAiEmbeddingModel, OpenAiEmbeddingModelBuilder};
use ai_services_tests::PATIENCE;
use ai_services_tests::fault_server::{FaultServer, Step, answer, json_answer};
use serde_json::{Value, json};

/// 1.0, -2.5 and 0.1 as little-endian `f32`.
const ENCODED: &str = "AACAPwAAIMDNzMw9";
const NUMBERS: [f32; 3] = [1.0, -2.5, 0.1];

fn client(server: &FaultServer) -> OpenAiEmbeddingModelBuilder {
    OpenAiEmbeddingModel::builder()
        .api_key(CANARY)
        .base_url(server.url())
        .model("m")
        .max_retries(0)
        .timeout(PATIENCE)
}

fn answer_of(vectors: &[(usize, Value)]) -> Value {
    let vector = |(index, vector): &(usize, Value)| json!({ "object": "embedding", "index": index, "embedding": vector });
    json!({ "object": "list", "model": "m-1", "usage": { "prompt_tokens": 3, "total_tokens": 3 },
        "data": vectors.iter().map(vector).collect::<Vec<_>>() })
}

async fn read(texts: &[&str], body: Value) -> ai_services::Result<Embeddings> {
    let server = FaultServer::answering([json_answer(&body)]).await.unwrap();
    client(&server).build()?.embed(texts, EmbeddingPurpose::Document).await
}

#[tokio::test]
async fn vectors_are_requested_in_base64() {
    let server = FaultServer::answering([
        json_answer(&answer_of(&[(0, ENCODED.into()), (1, ENCODED.into())])),
        json_answer(&answer_of(&[(0, ENCODED.into())])),
    ])
    .await
    .unwrap();
    let model = client(&server).organization("org").dimensions(3).build().unwrap();
    let read = model.embed(&["a \"b\"\n", "😀"], EmbeddingPurpose::Query).await.unwrap();
    assert_eq!(read.vectors, [NUMBERS, NUMBERS]);
    assert_eq!((read.usage.input, read.model.as_deref()), (Some(3), Some("m-1")));
    assert_eq!((model.dimensions(), model.name()), (Some(3), "m"));
    let request = server.requests().remove(0);
    assert!(request.head.starts_with("POST /v1/embeddings HTTP/1.1\r\n"));
    assert_eq!(request.header("authorization"), Some(format!("Bearer {CANARY}").as_str()));
    assert_eq!(request.header("openai-organization"), Some("org"));
    let golden = include_str!("golden/embeddings.json");
    assert_eq!(request.json(), serde_json::from_str::<Value>(golden).unwrap());
    assert_eq!(model.embed_query("q").await.unwrap(), NUMBERS);
}

#[tokio::test]
async fn extra_members_win() {
    let server =
        FaultServer::answering([json_answer(&answer_of(&[(0, json!([1, 2]))]))]).await.unwrap();
    let model = client(&server).extra("encoding_format", "float").extra("user", "u");
    let read = model.build().unwrap().embed(&["a"], EmbeddingPurpose::Document).await.unwrap();
    assert_eq!(read.vectors, [[1.0, 2.0]]);
    let expected = json!({ "model": "m", "encoding_format": "float", "user": "u", "input": ["a"] });
    assert_eq!(server.requests()[0].json(), expected);
}

#[tokio::test]
async fn lists_of_numbers_are_read_and_sorted() {
    let body = answer_of(&[(1, json!([3, 4.5])), (0, json!([-1e-3, 2]))]);
    assert_eq!(read(&["a", "b"], body).await.unwrap().vectors, [[-1e-3, 2.0], [3.0, 4.5]]);
    let unnumbered = json!({ "data": [{ "embedding": [1] }, { "embedding": [2] }] });
    assert_eq!(read(&["a", "b"], unnumbered).await.unwrap().vectors, [[1.0], [2.0]]);
}

#[tokio::test]
async fn mismatched_vectors_are_rejected() {
    let one = || json!([1.0]);
    let cases = [
        answer_of(&[(0, one())]),
        answer_of(&[(0, one()), (0, one())]),
        answer_of(&[(0, one()), (2, one())]),
        answer_of(&[(0, one()), (1, one()), (2, one())]),
        answer_of(&[(0, one()), (1, json!([]))]),
        answer_of(&[(0, one()), (1, json!([1.0, 2.0]))]),
        answer_of(&[(0, one()), (1, "AAA".into())]),
        answer_of(&[(0, one()), (1, Value::Null)]),
        json!({ "data": [{ "embedding": [1] }, { "embedding": [2], "index": 1 }] }),
        json!({ "data": null }),
        json!({}),
    ];
    for body in cases {
        let error = read(&["a", "b"], body.clone()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidResponse, "{body}: {error}");
    }
    let reported = read(&["a"], json!({ "error": { "message": "no", "code": "server_error" } }));
    assert_eq!(reported.await.unwrap_err().kind(), ErrorKind::Unavailable);
}

#[tokio::test]
async fn no_texts_send_no_request() {
    let server = FaultServer::answering([]).await.unwrap();
    let model = client(&server).build().unwrap();
    let nothing = model.embed(&[], EmbeddingPurpose::Document).await.unwrap();
    assert_eq!((nothing, server.connections()), (Embeddings::default(), 0));
}

#[tokio::test]
async fn many_texts_are_requested_in_batches() {
    let body = json_answer(&answer_of(&[(0, json!([1])), (1, json!([2]))]));
    let script = || vec![Step::Request, Step::Send(body.clone()), Step::Hang];
    let server = FaultServer::start([script(), script()]).await.unwrap();
    let model = client(&server).max_batch_texts(2).build().unwrap();
    let texts = ["1", "2", "3", "4"];
    let read = model.embed(&texts, EmbeddingPurpose::Document).await.unwrap();
    assert_eq!(read.vectors, [[1.0], [2.0], [1.0], [2.0]]);
    assert_eq!(read.usage.input, Some(6));
    let sent = server.requests();
    let mut inputs: Vec<_> = sent.iter().map(|sent| sent.json()["input"].to_string()).collect();
    // Both requests were concurrent.
    inputs.sort();
    assert_eq!(inputs, [r#"["1","2"]"#, r#"["3","4"]"#]);
}

#[tokio::test]
async fn long_texts_are_sent_alone() {
    let one = || json_answer(&answer_of(&[(0, json!([1]))]));
    let scripts = [one(), one()].map(|body| vec![Step::Request, Step::Send(body), Step::Hang]);
    let server = FaultServer::start(scripts).await.unwrap();
    let model = client(&server).max_batch_bytes(3).build().unwrap();
    let read = model.embed(&["long", "also long"], EmbeddingPurpose::Document).await.unwrap();
    assert_eq!((read.vectors.len(), server.requests().len()), (2, 2));
}

#[tokio::test]
async fn rejected_batch_is_the_error() {
    let body = json!({ "error": { "message": format!("too long, {CANARY}") } }).to_string();
    let server = FaultServer::answering([answer(400, &[], body)]).await.unwrap();
    let model = client(&server).build().unwrap();
    let error = model.embed(&["a"], EmbeddingPurpose::Document).await.unwrap_err();
    assert_eq!((error.kind(), error.status()), (ErrorKind::InvalidRequest, Some(400)));
    let printed = format!("{error:?} {error} {model:?} {:?}", client(&server));
    assert!(!printed.contains("canary"), "{printed}");
}

#[test]
fn missing_key_or_model_is_a_configuration_error() {
    let openai = || OpenAiEmbeddingModel::builder().base_url("https://api.openai.com/v1");
    let error = openai().model("m").build().unwrap_err();
    assert!(error.to_string().contains("OPENAI_API_KEY"), "{error}");
    let error = openai().api_key("k").build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration);
}

/// The error of the llama.cpp server, which has a status of the 5xx class.
#[tokio::test]
async fn too_long_text_is_not_retried() {
    let said = json!({ "error": { "code": 500, "type": "server_error", "message":
        "input (570 tokens) is too large to process. increase the physical batch size (current batch size: 512)" } });
    let refusal = answer(500, &[], said.to_string());
    let server = FaultServer::answering([refusal]).await.unwrap();
    let model = client(&server).max_retries(2).build().unwrap();
    let error = model.embed(&["long"], EmbeddingPurpose::Document).await.unwrap_err();
    assert_eq!((error.kind(), error.status()), (ErrorKind::InvalidRequest, Some(500)));
    assert!(!error.is_retryable() && error.to_string().contains("570 tokens"), "{error}");
    assert_eq!(server.requests().len(), 1);
}
