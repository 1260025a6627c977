//! Which model answers.

use crate::harness::{completion, finished, offline};
use ai_services_tests::fault_server::{FaultServer, Step, json_answer};
use serde_json::json;

#[tokio::test]
async fn ollama_server_that_answers_is_used() {
    let tags = json!({ "models": [{ "name": "nomic-embed-text:latest" }, { "name": "llama:8b" }] });
    let server = FaultServer::start([
        vec![Step::Request, Step::Send(json_answer(&tags)), Step::Hang],
        vec![Step::Request, Step::Send(completion(&json!({ "content": "Hi." }))), Step::Hang],
    ]);
    let server = server.await.unwrap();
    let host = server.url().replace("http://", "").replace("/v1", "");
    let mut command = offline("assistant");
    let (code, answer, notices) = finished(command.env("OLLAMA_HOST", host).arg("hi")).await;
    assert_eq!((code, answer.as_str()), (Some(0), "Hi.\n"), "{notices}");
    assert!(notices.starts_with("model: ollama/llama:8b (an Ollama server answers"), "{notices}");
    assert_eq!(server.requests()[1].json()["model"], "llama:8b");
}

#[tokio::test]
async fn key_in_the_environment_is_used_and_not_shown() {
    let server = FaultServer::answering([completion(&json!({ "content": "Hi." }))]).await.unwrap();
    let mut command = offline("assistant");
    command.env("OPENAI_API_KEY", "sk-canary").env("OPENAI_BASE_URL", server.url()).arg("hi");
    let (code, answer, notices) = finished(&mut command).await;
    assert_eq!((code, answer.as_str()), (Some(0), "Hi.\n"), "{notices}");
    assert!(notices.contains("OPENAI_API_KEY is set") && !notices.contains("canary"), "{notices}");
    assert_eq!(server.requests()[0].header("authorization"), Some("Bearer sk-canary"));
}
