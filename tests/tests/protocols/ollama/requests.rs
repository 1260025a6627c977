//! Content of the requests, compared with golden files.

use super::{client, golden, hello, hi};
use ai_services::ErrorKind;
use ai_services::message::{
    AiMessage, AudioContent, ChatMessage, Content, CustomMessage, ImageContent, PdfContent,
    ToolCall, ToolResult, UserMessage, VideoContent,
};
use ai_services::model::{
    Capability, ChatModel, ChatRequest, ChatRequestParameters, ReasoningEffort, ResponseFormat,
    ToolChoice, ToolSpecification,
};
use ai_services::providers::ollama::{KeepAlive, OllamaChatModelBuilder, Think, ThinkingReplay};
use ai_services_tests::fault_server::{FaultServer, Recorded};
use futures_util::StreamExt;
use serde_json::json;
use std::time::Duration;

async fn sent(
    request: &ChatRequest,
    configure: impl Fn(OllamaChatModelBuilder) -> OllamaChatModelBuilder,
) -> Recorded {
    let server = FaultServer::answering([hi()]).await.unwrap();
    configure(client(&server)).build().unwrap().chat(request).await.unwrap();
    server.requests().remove(0)
}

/// Asserts that the messages are sent as in the golden file.
async fn assert_sent(name: &str, messages: impl IntoIterator<Item = ChatMessage>) {
    let recorded = sent(&ChatRequest::new(messages), |builder| builder).await;
    assert_eq!(recorded.json(), golden(name), "{name}");
}

fn weather() -> ToolSpecification {
    let schema = json!({
        "type": "object",
        "properties": {
            "city": { "type": "string", "description": "The city." },
            "days": { "type": "integer" },
        },
        "required": ["city"],
    });
    ToolSpecification::new("weather", "Looks up the weather.")
        .with_parameters(schema.try_into().unwrap())
}

fn calling(calls: impl IntoIterator<Item = ToolCall>) -> ChatMessage {
    AiMessage::builder().thinking("I need the tool.").tool_calls(calls).build().into()
}

fn image() -> Content {
    ImageContent::base64("iVBORw0KGgo=", "image/png").into()
}

#[tokio::test]
async fn request_has_path_key_and_plain_body() {
    let recorded = sent(&hello(), |builder| builder.api_key("key")).await;
    assert!(recorded.head.starts_with("POST /api/chat HTTP/1.1\r\n"), "{}", recorded.head);
    assert_eq!(recorded.header("authorization"), Some("Bearer key"));
    assert_eq!(recorded.header("content-type"), Some("application/json"));
    assert_eq!(recorded.json(), golden("text"));
    let body = r#"{"model":"m","stream":false,"messages":[{"role":"user","content":"Hello!"}]}"#;
    assert_eq!(String::from_utf8(recorded.body).unwrap(), body);
    assert_eq!(sent(&hello(), |builder| builder).await.header("authorization"), None);
}

#[tokio::test]
async fn stream_is_requested() {
    let server = FaultServer::answering([hi()]).await.unwrap();
    let model = client(&server).build().unwrap();
    let _events: Vec<_> = model.stream(&hello()).collect().await;
    assert_eq!(server.requests()[0].json(), golden("stream"));
}

#[tokio::test]
async fn every_kind_of_message_is_sent() {
    let attributes = json!({ "role": "user", "content": "Custom." });
    let messages = [
        ChatMessage::system("Be \"brief\".\n\u{1F600}"),
        UserMessage::new("Hello!").with_name("Klaus").into(),
        ChatMessage::ai("Hi."),
        AiMessage::builder().refusal("I cannot.").build().into(),
        UserMessage::from_contents(["One.".into(), Content::from("Two.")]).into(),
        CustomMessage::new(attributes.as_object().unwrap().clone()).into(),
    ];
    assert_sent("messages", messages).await;
}

#[tokio::test]
async fn images_are_sent_beside_the_text() {
    let look = UserMessage::from_contents(["Which is larger?".into(), image(), image()]);
    assert_sent("images", [look.into()]).await;
}

#[tokio::test]
async fn tools_are_sent() {
    let request = ChatRequest::builder()
        .messages([ChatMessage::user("Hello!")])
        .tools(vec![weather(), ToolSpecification::new("now", "Tells the time.")])
        .parameters(ChatRequestParameters::new().tool_choice(ToolChoice::Auto))
        .build();
    assert_eq!(sent(&request, |builder| builder).await.json(), golden("tools"));
}

#[tokio::test]
async fn tool_results_contain_tool_and_call() {
    let messages = [
        ChatMessage::user("Weather?"),
        calling([
            ToolCall::new("c1", "weather", r#"{"days": 2, "city": "Oslo"}"#),
            ToolCall::new("c2", "weather", r#"{"city":"Rome"}"#),
            ToolCall::new("c3", "camera", "not JSON"),
        ]),
        ToolResult::new("c1", "weather", "rain").into(),
        ToolResult::new("c2", "weather", "no such city").into_error().into(),
        ToolResult::from_contents("c3", "camera", ["Front:".into(), image()]).into(),
    ];
    assert_sent("tool_results", messages).await;
}

#[tokio::test]
async fn arguments_are_sent_in_the_order_of_the_model() {
    let call = calling([ToolCall::new("c", "t", r#"{"z":1,"a":2}"#)]);
    let result = ToolResult::new("c", "t", "").into();
    let recorded = sent(&ChatRequest::new([ChatMessage::user("?"), call, result]), |b| b).await;
    let body = String::from_utf8(recorded.body).unwrap();
    assert!(body.contains(r#""arguments":{"z":1,"a":2}"#), "{body}");
}

#[tokio::test]
async fn thinking_is_sent_as_configured() {
    let result = || ChatMessage::from(ToolResult::new("c", "t", "1"));
    let call = || calling([ToolCall::new("c", "t", "{}")]);
    let request = ChatRequest::new([
        ChatMessage::user("old"),
        AiMessage::builder().thinking("old thinking").text("old answer").build().into(),
        ChatMessage::user("new"),
        call(),
        result(),
    ]);
    // All settings share one request, so a cached encoding of another setting would be noticed.
    let replays = [
        (ThinkingReplay::CurrentTurn, "thinking_current_turn"),
        (ThinkingReplay::Always, "thinking_always"),
        (ThinkingReplay::Never, "thinking_never"),
        (ThinkingReplay::CurrentTurn, "thinking_current_turn"),
    ];
    for (replay, name) in replays {
        let recorded = sent(&request, |builder| builder.thinking_replay(replay)).await;
        assert_eq!(recorded.json(), golden(name), "{name}");
    }
    let by_default = sent(&request, |builder| builder).await.json();
    assert_eq!(by_default, golden("thinking_current_turn"));
}

#[tokio::test]
async fn every_parameter_is_sent() {
    let parameters = ChatRequestParameters::new()
        .model("other")
        .temperature(0.5)
        .top_p(0.25)
        .top_k(40)
        .frequency_penalty(-1.0)
        .presence_penalty(1.0)
        .max_output_tokens(100)
        .stop(["END", "STOP"])
        .seed(-7)
        .reasoning_effort(ReasoningEffort::Low)
        .response_format(ResponseFormat::JsonObject)
        .extra("logprobs", true)
        .extra("options", json!({ "min_p": 0.05 }));
    let request = ChatRequest::builder().messages([ChatMessage::user("Hello!")]);
    let request = request.parameters(parameters).build();
    let recorded = sent(&request, |builder| {
        builder
            .context_length(16_384)
            .repeat_penalty(1.1)
            .option("num_gpu", 0)
            .option("temperature", 2.0)
            .think(Think::Off)
            .keep_alive(KeepAlive::For(Duration::from_secs(60)))
    });
    assert_eq!(recorded.await.json(), golden("parameters"));
}

#[tokio::test]
async fn settings_of_the_client_are_sent() {
    let request = hello();
    let recorded = sent(&request, |builder| {
        builder
            .parameters(ChatRequestParameters::new().temperature(0.0))
            .think(Think::On)
            .keep_alive(KeepAlive::Forever)
    });
    assert_eq!(recorded.await.json(), golden("settings"));
    let unloading = sent(&hello(), |builder| builder.keep_alive(KeepAlive::Unload)).await;
    assert_eq!(unloading.json()["keep_alive"], 0);
}

#[tokio::test]
async fn schema_is_sent_in_the_order_of_declaration() {
    let schema = json!({
        "type": "object", "required": ["why", "answer"], "propertyOrdering": ["why", "answer"],
        "properties": { "answer": { "type": "boolean" }, "why": { "type": "string" } },
    });
    let format = ResponseFormat::JsonSchema {
        name: "verdict".into(),
        schema: Box::new(schema.try_into().unwrap()),
    };
    let request = ChatRequest::builder().messages([ChatMessage::user("Hello!")]);
    let request = request.parameters(ChatRequestParameters::new().response_format(format)).build();
    let recorded = sent(&request, |builder| builder).await;
    assert_eq!(recorded.json(), golden("schema"));
    let body = String::from_utf8(recorded.body).unwrap();
    assert!(body.find(r#""why":{"#) < body.find(r#""answer":{"#), "{body}");
}

#[tokio::test]
async fn extra_members_win() {
    let parameters = ChatRequestParameters::new()
        .extra("messages", json!([{ "role": "user", "content": "Other." }]))
        .extra("keep_alive", "1h")
        .extra("think", "max");
    let request = ChatRequest::builder().messages([ChatMessage::user("Hello!")]);
    let request = request.parameters(parameters).build();
    let recorded = sent(&request, |builder| builder.keep_alive(KeepAlive::Unload)).await;
    assert_eq!(recorded.json(), golden("extra"));
}

#[tokio::test]
async fn unsupported_content_is_an_error_before_any_request() {
    let server = FaultServer::start([]).await.unwrap();
    let able = client(&server).build().unwrap().capabilities();
    let able = able.with(Capability::Audio).with(Capability::Videos).with(Capability::Pdfs);
    // With and without the capability.
    let models =
        [client(&server).build().unwrap(), client(&server).capabilities(able).build().unwrap()];
    let user = |content| ChatMessage::from(UserMessage::from_contents([content]));
    let result = |content| ChatMessage::from(ToolResult::from_contents("c", "t", [content]));
    for message in [
        user(Content::image_url("https://example.org/x.png")),
        result(Content::image_url("https://example.org/x.png")),
        user(VideoContent::base64("AA==", "video/mp4").into()),
        user(AudioContent::base64("UklG", "audio/wav").into()),
        user(PdfContent::base64("JVBE", "application/pdf").into()),
    ] {
        for model in &models {
            let error = model.chat(&ChatRequest::new([message.clone()])).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        }
    }
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn tool_choice_and_schema_with_tools_are_rejected_before_any_request() {
    let server = FaultServer::start([]).await.unwrap();
    let model = client(&server).build().unwrap();
    let schema = Box::new(json!({ "type": "object" }).try_into().unwrap());
    let format = ResponseFormat::JsonSchema { name: "n".into(), schema };
    for parameters in [
        ChatRequestParameters::new().tool_choice(ToolChoice::Required),
        ChatRequestParameters::new().response_format(format),
    ] {
        let request = ChatRequest::builder().messages([ChatMessage::user("?")]);
        let request = request.tools(vec![weather()]).parameters(parameters).build();
        let error = model.chat(&request).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    }
    assert_eq!(server.connections(), 0);
}
