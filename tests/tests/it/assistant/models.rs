//! Selection of the model.

use super::harness::{completion, finished, offline};
use ai_services_tests::fault_server::{FaultServer, Step, json_answer};
use serde_json::json;

#[tokio::test]
async fn reachable_ollama_server_is_used() {
    let tags = json!({ "models": [{ "name": "nomic-embed-text:latest" }, { "name": "llama:8b" }] });
    let answer = json!({ "message": { "content": "Hi." }, "done": true, "done_reason": "stop" });
    let server = FaultServer::start([
        vec![Step::Request, Step::Send(json_answer(&tags)), Step::Hang],
        vec![Step::Request, Step::Send(json_answer(&answer)), Step::Hang],
    ]);
    let server = server.await.unwrap();
    let host = server.origin().replace("http://", "");
    let mut command = offline("assistant");
    let (code, answer, notices) = finished(command.env("OLLAMA_HOST", host).arg("hi")).await;
    assert_eq!((code, answer.as_str()), (Some(0), "Hi.\n"), "{notices}");
    assert!(notices.starts_with("model: ollama/llama:8b (an Ollama server answers"), "{notices}");
    assert_eq!(server.requests()[1].json()["model"], "llama:8b");
}

#[tokio::test]
async fn base_url_works_with_every_provider() {
    let text = json!({ "type": "output_text", "text": "Hi." });
    let item = json!({ "type": "message", "role": "assistant", "content": [text] });
    for (provider, path, answer) in [
        (
            "openai",
            "/chat/completions",
            json!({ "choices": [{ "message": { "content": "Hi." }, "finish_reason": "stop" }] }),
        ),
        ("openai-responses", "/responses", json!({ "status": "completed", "output": [item] })),
        (
            "anthropic",
            "/v1/messages",
            json!({ "content": [{ "type": "text", "text": "Hi." }], "stop_reason": "end_turn" }),
        ),
        (
            "gemini",
            "/models/m:generateContent",
            json!({ "candidates": [{ "content": { "role": "model", "parts": [{ "text": "Hi." }] },
                "finishReason": "STOP" }] }),
        ),
        ("ollama", "/api/chat", json!({ "message": { "content": "Hi." }, "done": true })),
    ] {
        let server = FaultServer::answering([json_answer(&answer)]).await.unwrap();
        let mut command = offline("assistant");
        command.args(["--no-stream", "--model", &format!("{provider}/m")]);
        let (code, answer, notices) =
            finished(command.args(["--base-url", &server.origin(), "hi"])).await;
        assert_eq!((code, answer.as_str()), (Some(0), "Hi.\n"), "{provider}: {notices}");
        assert!(notices.starts_with(&format!("model: {provider}/m ")), "{notices}");
        let head = server.requests().remove(0).head;
        assert!(head.starts_with(&format!("POST {path} ")), "{provider}: {head}");
    }
}

#[tokio::test]
async fn key_from_the_environment_is_used_and_not_printed() {
    let server = FaultServer::answering([completion(&json!({ "content": "Hi." }))]).await.unwrap();
    let mut command = offline("assistant");
    command.env("OPENAI_API_KEY", "sk-canary").env("OPENAI_BASE_URL", server.url()).arg("hi");
    let (code, answer, notices) = finished(&mut command).await;
    assert_eq!((code, answer.as_str()), (Some(0), "Hi.\n"), "{notices}");
    assert!(notices.contains("OPENAI_API_KEY is set") && !notices.contains("canary"), "{notices}");
    assert_eq!(server.requests()[0].header("authorization"), Some("Bearer sk-canary"));
}
