//! Models of a server and their capabilities.

use super::{client, hello, hi};
use ai_services::ErrorKind;
use ai_services::model::{Capabilities, Capability, ChatModel};
use ai_services::providers::ollama::OllamaServer;
use ai_services_tests::fault_server::{FaultServer, answer, json_answer};
use serde_json::{Value, json};

fn server(fault: &FaultServer) -> OllamaServer {
    OllamaServer::builder().base_url(fault.origin()).max_retries(0).build().unwrap()
}

fn show(capabilities: &Value) -> Vec<u8> {
    json_answer(&json!({
        "modelfile": "…", "parameters": "stop \"x\"", "template": "{{ .Prompt }}",
        "details": {
            "parent_model": "", "format": "gguf", "family": "gemma3", "families": ["gemma3"],
            "parameter_size": "4.3B", "quantization_level": "Q4_K_M",
        },
        "model_info": {
            "general.architecture": "gemma3", "gemma3.context_length": 131_072,
            "gemma3.embedding_length": 2560, "tokenizer.ggml.tokens": null,
        },
        "capabilities": capabilities,
    }))
}

#[tokio::test]
async fn models_are_listed() {
    let fault = FaultServer::answering([json_answer(&json!({ "models": [
        {
            "name": "llama3.2:latest", "model": "llama3.2:latest", "size": 2_019_393_189_u64,
            "modified_at": "2025-11-01T12:00:00.5+01:00", "digest": "a80c4f17acd5",
            "details": { "format": "gguf", "family": "llama", "families": ["llama"],
                "parameter_size": "3.2B", "quantization_level": "Q4_K_M" },
        },
        { "model": "nomic-embed-text:latest", "details": { "family": "nomic-bert" } },
        { "name": "gpt-oss:120b-cloud", "size": 384,
          "details": { "family": "", "parameter_size": "" } },
    ] }))]);
    let fault = fault.await.unwrap();
    let models = server(&fault).models().await.unwrap();
    let request = fault.requests().remove(0);
    assert!(request.head.starts_with("GET /api/tags HTTP/1.1\r\n"), "{}", request.head);
    let names: Vec<_> = models.iter().map(|model| &*model.name).collect();
    assert_eq!(names, ["llama3.2:latest", "nomic-embed-text:latest", "gpt-oss:120b-cloud"]);
    let (first, last) = (&models[0], &models[2]);
    assert_eq!(first.size, Some(2_019_393_189));
    assert_eq!(first.modified_at.as_deref(), Some("2025-11-01T12:00:00.5+01:00"));
    assert_eq!(first.family.as_deref(), Some("llama"));
    assert_eq!(first.parameter_size.as_deref(), Some("3.2B"));
    assert_eq!(first.quantization.as_deref(), Some("Q4_K_M"));
    assert_eq!((&last.family, &last.parameter_size), (&None, &None));
    let for_embeddings: Vec<_> = models.iter().map(|it| it.looks_like_embedding_model()).collect();
    assert_eq!(for_embeddings, [false, true, false]);
}

#[tokio::test]
async fn server_without_models_lists_none() {
    for body in [json!({ "models": null }), json!({ "models": [] }), json!({})] {
        let fault = FaultServer::answering([json_answer(&body)]).await.unwrap();
        assert!(server(&fault).models().await.unwrap().is_empty());
    }
}

#[tokio::test]
async fn invalid_list_is_an_error() {
    for body in ["<html>", "[]", r#"{"models":7}"#, r#"{"error":"no"}"#] {
        let fault = FaultServer::answering([answer(200, &[], body)]).await.unwrap();
        let error = server(&fault).models().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidResponse, "{body}: {error}");
    }
}

#[tokio::test]
async fn model_is_described() {
    let able = json!(["completion", "vision", "something new"]);
    let fault = FaultServer::answering([show(&able)]).await.unwrap();
    let details = server(&fault).model("gemma3").await.unwrap();
    let request = fault.requests().remove(0);
    assert!(request.head.starts_with("POST /api/show HTTP/1.1\r\n"), "{}", request.head);
    assert_eq!(request.json(), json!({ "model": "gemma3" }));
    assert_eq!(details.capabilities.len(), 3);
    assert_eq!(details.family.as_deref(), Some("gemma3"));
    assert_eq!(details.context_length, Some(131_072));
    assert_eq!(details.embedding_length, Some(2560));
    let expected =
        [Capability::JsonSchema, Capability::JsonObject, Capability::Streaming, Capability::Images];
    assert_eq!(details.chat_capabilities(), Some(Capabilities::of(expected)));
}

#[tokio::test]
async fn model_that_is_missing_is_an_error_with_a_hint() {
    let missing = answer(404, &[], json!({ "error": "model 'x' not found" }).to_string());
    let fault = FaultServer::answering([missing]).await.unwrap();
    let error = server(&fault).model("x").await.unwrap_err();
    assert!(error.to_string().contains("`ollama pull x`"), "{error}");
}

#[tokio::test]
async fn capabilities_are_requested_if_configured() {
    let fault = FaultServer::answering([show(&json!(["completion", "tools"])), hi()]).await;
    let fault = fault.unwrap();
    let model = client(&fault).detect().await.unwrap();
    assert!(model.capabilities().contains(Capability::Tools));
    assert!(!model.capabilities().contains(Capability::Images));
    model.chat(&hello()).await.unwrap();
    assert_eq!(fault.connections(), 1);
}

#[tokio::test]
async fn defaults_apply_without_server_capabilities() {
    let fault = FaultServer::answering([show(&Value::Null)]).await.unwrap();
    let model = client(&fault).detect().await.unwrap();
    assert_eq!(model.capabilities(), client(&fault).build().unwrap().capabilities());
}

#[tokio::test]
async fn configured_capabilities_send_no_request() {
    let fault = FaultServer::start([]).await.unwrap();
    let told = Capabilities::of([Capability::Streaming]);
    let model = client(&fault).capabilities(told).detect().await.unwrap();
    assert_eq!((model.capabilities(), fault.connections()), (told, 0));
}

#[tokio::test]
async fn models_are_listed_over_the_connection_of_the_client() {
    let fault = FaultServer::answering([hi(), json_answer(&json!({ "models": [] }))]).await;
    let fault = fault.unwrap();
    let model = client(&fault).api_key("key").build().unwrap();
    model.chat(&hello()).await.unwrap();
    model.server().models().await.unwrap();
    assert_eq!(fault.connections(), 1);
    assert_eq!(fault.requests()[1].header("authorization"), Some("Bearer key"));
}
