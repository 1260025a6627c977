//! URLs and headers of requests.

use super::{CANARY, answer_of, client, hello, hi};
use ai_services::message::{ChatMessage, ImageContent, Media, UserMessage};
use ai_services::model::{
    Capabilities, Capability, ChatModel, ChatRequest, ChatRequestParameters, ModelStreamEvent,
};
use ai_services::{ErrorKind, message::MediaSource};
use ai_services_tests::fault_server::{FaultServer, events_answer};
use futures_util::StreamExt;
use serde_json::json;

fn asking(model: &str) -> ChatRequest {
    let parameters = ChatRequestParameters::new().model(model);
    ChatRequest::builder().messages([ChatMessage::user("Hello!")]).parameters(parameters).build()
}

fn stream_of_hi() -> Vec<u8> {
    events_answer(format!("data: {}\n\n", answer_of(json!([{ "text": "Hi." }]), "STOP")))
}

#[tokio::test]
async fn key_is_in_a_header_and_not_in_the_url() {
    let server = FaultServer::answering([hi(), stream_of_hi()]).await.unwrap();
    let model = client(&server).build().unwrap();
    model.chat(&hello()).await.unwrap();
    let events: Vec<_> = model.stream(&hello()).collect().await;
    assert!(matches!(events.last(), Some(Ok(ModelStreamEvent::Completed(_)))), "{events:?}");
    let [whole, stream] = server.requests().try_into().unwrap();
    let path = "POST /v1beta/models/gemini-2.5-flash";
    assert!(whole.head.starts_with(&format!("{path}:generateContent HTTP/1.1\r\n")));
    let expected = format!("{path}:streamGenerateContent?alt=sse HTTP/1.1\r\n");
    assert!(stream.head.starts_with(&expected), "{}", stream.head);
    assert_eq!(whole.body, stream.body);
    for recorded in [whole, stream] {
        assert_eq!(recorded.header("x-goog-api-key"), Some(CANARY));
        assert_eq!(recorded.header("authorization"), None);
        assert_eq!(recorded.header("content-type"), Some("application/json"));
    }
}

#[tokio::test]
async fn request_can_override_the_model() {
    let server = FaultServer::answering([hi(), hi(), stream_of_hi()]).await.unwrap();
    let model = client(&server).build().unwrap();
    model.chat(&asking("models/gemini-3-pro")).await.unwrap();
    model.chat(&asking("tunedModels/mine")).await.unwrap();
    let _: Vec<_> = model.stream(&asking("gemini-3-pro")).collect().await;
    let paths: Vec<_> =
        server.requests().iter().map(|r| r.head.lines().next().unwrap().to_owned()).collect();
    assert_eq!(
        paths,
        [
            "POST /v1beta/models/gemini-3-pro:generateContent HTTP/1.1",
            "POST /v1beta/tunedModels/mine:generateContent HTTP/1.1",
            "POST /v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse HTTP/1.1",
        ]
    );
}

#[tokio::test]
async fn model_name_cannot_escape_its_path() {
    let server = FaultServer::answering([]).await.unwrap();
    let model = client(&server).build().unwrap();
    for name in ["", "..", "../../x", "models/../x", "a/b", "a?key=1", "a%2f..", "a#b", "a:b"] {
        let error = model.chat(&asking(name)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Configuration, "{name}");
        let events: Vec<_> = model.stream(&asking(name)).collect().await;
        assert_eq!(events.len(), 1);
        assert_eq!(events[0].as_ref().unwrap_err().kind(), ErrorKind::Configuration, "{name}");
    }
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn message_that_cannot_be_sent_is_unsupported() {
    let server = FaultServer::answering([]).await.unwrap();
    let mut media = Media::url("https://a.example");
    media.source = MediaSource::Base64("AAAA".into());
    let untyped = UserMessage::from_contents([ImageContent::new(media).into()]);
    let request = ChatRequest::new([untyped.into()]);
    let error = client(&server).build().unwrap().chat(&request).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    let blind =
        client(&server).capabilities(Capabilities::of([Capability::Tools])).build().unwrap();
    let look = UserMessage::from_contents([ImageContent::url("https://a.example/b.png").into()]);
    let error = blind.chat(&ChatRequest::new([look.into()])).await.unwrap_err();
    assert!(error.to_string().contains("cannot look at images"), "{error}");
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn schema_with_tools_requires_newer_models() {
    let server = FaultServer::answering([]).await.unwrap();
    let can = |model: &str| client(&server).model(model).build().unwrap().capabilities();
    assert!(!can("gemini-2.5-pro").contains(Capability::JsonSchemaWithTools));
    assert!(can("gemini-3.1-pro-preview").contains(Capability::JsonSchemaWithTools));
    for capability in [Capability::Videos, Capability::Pdfs, Capability::JsonSchema] {
        assert!(can("gemini-2.5-pro").contains(capability));
    }
}

#[tokio::test]
async fn model_without_streams_answers_in_one_piece() {
    let server = FaultServer::answering([hi()]).await.unwrap();
    let model = client(&server).capabilities(Capabilities::of([])).build().unwrap();
    let events: Vec<_> = model.stream(&hello()).collect().await;
    assert_eq!(events.len(), 2);
    assert!(server.requests()[0].head.contains(":generateContent "));
}
