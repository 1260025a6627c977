//! Requests for a conversation.

use super::{CANARY, check, client, hello, hi, sent};
use crate::fixtures::weather;
use ai_services::ErrorKind;
use ai_services::message::{
    AiMessage, AudioContent, ChatMessage, Content, CustomMessage, ImageContent, PdfContent,
    ProviderContent, ToolCall, ToolResult, UserMessage, VideoContent,
};
use ai_services::model::{ChatModel, ChatRequest, ToolSpecification};
use ai_services::providers::anthropic::{CacheLifetime, PromptCaching};
use ai_services_tests::fault_server::FaultServer;
use proptest::prelude::*;
use serde_json::{Value, json};

async fn check_messages(name: &str, messages: impl IntoIterator<Item = ChatMessage>) {
    check(name, &ChatRequest::new(messages), |builder| builder).await;
}

fn calling(calls: impl IntoIterator<Item = ToolCall>) -> ChatMessage {
    AiMessage::builder().tool_calls(calls).build().into()
}

#[tokio::test]
async fn request_has_path_key_version_and_plain_body() {
    let recorded = sent(&hello(), |b| b.beta("a-2025-01-01").beta("b-2025-02-02")).await;
    assert!(recorded.head.starts_with("POST /v1/messages HTTP/1.1\r\n"), "{}", recorded.head);
    assert_eq!(recorded.header("x-api-key"), Some(CANARY));
    assert_eq!(recorded.header("authorization"), None);
    assert_eq!(recorded.header("anthropic-version"), Some("2023-06-01"));
    assert_eq!(recorded.header("anthropic-beta"), Some("a-2025-01-01,b-2025-02-02"));
    assert_eq!(recorded.header("content-type"), Some("application/json"));
    let body = r#"{"model":"m","max_tokens":4096,"messages":[{"role":"user","content":[{"type":"text","text":"Hello!"}]}]}"#;
    assert_eq!(String::from_utf8(recorded.body).unwrap(), body);
}

#[tokio::test]
async fn headers_of_the_application_win() {
    let recorded =
        sent(&hello(), |b| b.header("X-Api-Key", "x").header("user-agent", "mine")).await;
    assert_eq!(recorded.header("x-api-key"), Some("x"));
    assert_eq!(recorded.header("user-agent"), Some("mine"));
}

#[tokio::test]
async fn every_kind_of_message_is_sent() {
    let custom = json!({ "role": "user", "content": [
        { "type": "document", "source": { "type": "text", "media_type": "text/plain", "data": "A text." },
            "title": "T", "citations": { "enabled": true } }] });
    let messages = [
        ChatMessage::system("Be \"brief\".\n\u{1F600}"),
        UserMessage::new("Hello!").with_name("Klaus").into(),
        AiMessage::builder()
            .text("Let me see.")
            .thinking("of another provider, without a signature")
            .tool_calls([ToolCall::new("c1", "weather", r#"{"city": "Oslo"}"#)])
            .build()
            .into(),
        ToolResult::new("c1", "weather", "no such city").into_error().into(),
        calling([ToolCall::new("c2", "now", ""), ToolCall::new("c3", "now", "{oops")]),
        ToolResult::from_contents("c2", "now", ["a", " ", "b"].map(Content::from)).into(),
        ToolResult::new("c3", "now", "").into(),
        ChatMessage::user("And now?"),
        AiMessage::builder().refusal("I cannot.").build().into(),
        CustomMessage::new(custom.as_object().unwrap().clone()).into(),
    ];
    check_messages("every_kind", messages).await;
}

#[tokio::test]
async fn all_system_messages_are_blocks_of_the_system_prompt() {
    let messages = [
        ChatMessage::system("One."),
        ChatMessage::user("Hello!"),
        ChatMessage::system("  "),
        ChatMessage::ai("Hi."),
        ChatMessage::system("Two."),
        ChatMessage::user("And?"),
    ];
    check_messages("system", messages).await;
}

#[tokio::test]
async fn roles_take_turns_and_nothing_empty_is_sent() {
    let messages = [
        ChatMessage::user("a"),
        ChatMessage::user("b"),
        ChatMessage::ai(" \n"),
        ChatMessage::user(""),
        ChatMessage::ai("c"),
        AiMessage::builder().build().into(),
        ChatMessage::ai("d"),
        UserMessage::from_contents(["".into(), Content::image_url("https://a.example/b.png")])
            .into(),
    ];
    check_messages("turns", messages).await;
}

#[tokio::test]
async fn conversation_without_a_first_user_message_is_rejected() {
    let server = FaultServer::answering([]).await.unwrap();
    let client = client(&server).build().unwrap();
    let conversations = [
        vec![],
        vec![ChatMessage::system("s")],
        vec![ChatMessage::ai("How can I help?"), ChatMessage::user("Hello!")],
    ];
    for messages in conversations {
        let error = client.chat(&ChatRequest::new(messages)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.to_string().contains("begin with a message of the user"), "{error}");
    }
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn media_are_sent_as_base64_or_url() {
    let contents = [
        "Look:".into(),
        Content::from(ImageContent::base64("aW1n", "image/png")),
        ImageContent::base64("aW1n", "image/jpg").into(),
        ImageContent::url("https://a.example/b.png").into(),
        ImageContent::url("data:image/gif;base64,R0lG").into(),
        PdfContent::base64("cGRm", "application/pdf").into(),
        PdfContent::url("https://a.example/b.pdf").into(),
    ];
    check_messages("media", [UserMessage::from_contents(contents).into()]).await;
}

#[tokio::test]
async fn media_of_tools_are_parts_of_their_result() {
    let contents = [
        Content::from("A map."),
        ImageContent::base64("aW1n", "image/webp").into(),
        PdfContent::base64("cGRm", "application/pdf").into(),
    ];
    let messages = [
        ChatMessage::user("Show me."),
        calling(["c1", "c2"].map(|id| ToolCall::new(id, "map", "{}"))),
        ToolResult::from_contents("c1", "map", contents).into(),
        ToolResult::new("c2", "map", " ").into_error().into(),
        ChatMessage::user("Well?"),
    ];
    check_messages("tool_results", messages).await;
}

#[tokio::test]
async fn unsupported_content_is_rejected() {
    let server = FaultServer::answering([]).await.unwrap();
    let client = client(&server).build().unwrap();
    let contents: [(Content, &str); 4] = [
        (AudioContent::base64("YQ", "audio/wav").into(), "recordings"),
        (VideoContent::url("https://a.example/b.mp4").into(), "videos"),
        (ImageContent::base64("YQ", "image/bmp").into(), "PNG"),
        (ImageContent::new(ai_services::message::Media::url("data:;base64,YQ")).into(), "PNG"),
    ];
    for (content, word) in contents {
        let message = UserMessage::from_contents([content]);
        let error = client.chat(&ChatRequest::new([message.into()])).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.to_string().contains(word), "{error}");
    }
    let custom = json!({ "role": "developer", "content": "x" });
    let custom = CustomMessage::new(custom.as_object().unwrap().clone());
    let error = client.chat(&ChatRequest::new([custom.into()])).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert_eq!(server.connections(), 0);
}

fn blocks() -> Value {
    json!([
        { "type": "thinking", "thinking": "Let me see.", "signature": "c2lnbmF0dXJl" },
        { "type": "redacted_thinking", "data": "b3BhcXVl" },
        { "type": "text", "text": "I look." },
        { "type": "tool_use", "id": "c1", "name": "weather", "input": { "city": "Oslo" } },
    ])
}

fn thoughtful() -> AiMessage {
    AiMessage::builder()
        .thinking("Let me see.")
        .text("I look.")
        .tool_calls([ToolCall::new("c1", "weather", r#"{"city":"Oslo"}"#)])
        .provider_content(ProviderContent::from_json("anthropic", blocks().to_string()).unwrap())
        .build()
}

#[tokio::test]
async fn blocks_of_an_answer_are_sent_back_unchanged() {
    let messages = [
        ChatMessage::user("Weather?"),
        thoughtful().into(),
        ToolResult::new("c1", "weather", "rain").into(),
    ];
    check_messages("replay", messages.clone()).await;
    let body = sent(&ChatRequest::new(messages), |builder| builder).await.body;
    let own = blocks().to_string();
    let verbatim = own.trim_start_matches('[').trim_end_matches(']');
    assert!(String::from_utf8(body).unwrap().contains(verbatim));
}

#[tokio::test]
async fn changed_calls_and_content_of_other_protocols_are_encoded_again() {
    let changed = thoughtful().with_tool_calls(vec![ToolCall::new("c9", "now", "{}")]);
    let other = AiMessage::builder()
        .text("I look again.")
        .provider_content(ProviderContent::from_json("gemini", "[{}]").unwrap())
        .build();
    let messages = [
        ChatMessage::user("Weather?"),
        changed.into(),
        ToolResult::new("c9", "now", "noon").into(),
        other.into(),
        ChatMessage::user("And?"),
    ];
    check_messages("changed", messages).await;
}

#[tokio::test]
async fn ids_of_other_providers_are_rewritten() {
    let messages = [
        ChatMessage::user("Weather?"),
        calling([ToolCall::new("functions.weather:0", "weather", "{}")]),
        ToolResult::new("functions.weather:0", "weather", "rain").into(),
    ];
    check_messages("foreign_ids", messages).await;
}

fn cached_request(last: ChatMessage) -> ChatRequest {
    ChatRequest::builder()
        .system("Be brief.")
        .messages([ChatMessage::user("Hello!"), ChatMessage::ai("Hi."), last])
        .tools(vec![ToolSpecification::new("now", "Tells the time."), weather()])
        .build()
}

#[tokio::test]
async fn instructions_have_a_cache_mark() {
    let caching = PromptCaching::Instructions(CacheLifetime::OneHour);
    let request = cached_request(ChatMessage::user("And?"));
    check("caching_instructions", &request, |b| b.prompt_caching(caching)).await;
}

#[tokio::test]
async fn conversation_has_a_cache_mark() {
    let caching = PromptCaching::Conversation(CacheLifetime::FiveMinutes);
    let last =
        ToolResult::from_contents("c", "now", [Content::image_url("https://a.example/b.png")]);
    let request = cached_request(last.into());
    check("caching_conversation", &request, |b| b.prompt_caching(caching)).await;
    // Encoded messages are shared; a client without cache marks must not send any.
    check("caching_off", &request, |builder| builder).await;
}

#[tokio::test]
async fn last_message_of_the_model_has_no_cache_mark() {
    let caching = PromptCaching::Conversation(CacheLifetime::FiveMinutes);
    let request = ChatRequest::new([ChatMessage::user("Hello!"), ChatMessage::ai("Hi, I am")]);
    let body = sent(&request, |b| b.prompt_caching(caching)).await.json();
    assert_eq!(body["messages"][1]["content"], json!([{ "type": "text", "text": "Hi, I am" }]));
}

#[tokio::test]
async fn message_is_encoded_once_and_sent_the_same() {
    let server = FaultServer::answering([hi(), hi()]).await.unwrap();
    let client = client(&server).build().unwrap();
    let request = cached_request(ChatMessage::user("And?"));
    for _ in 0..2 {
        client.chat(&request).await.unwrap();
    }
    let requests = server.requests();
    assert_eq!(requests[0].body, requests[1].body);
}

fn any_message() -> impl Strategy<Value = ChatMessage> {
    let text = || prop::sample::select(vec!["", " \n", "a", "\"é\u{1}"]);
    prop_oneof![
        text().prop_map(ChatMessage::system),
        text().prop_map(ChatMessage::user),
        (text(), text())
            .prop_map(|(a, b)| { UserMessage::from_contents([a, b].map(Content::from)).into() }),
        text().prop_map(ChatMessage::ai),
        Just(thoughtful().into()),
        (text(), text()).prop_map(|(id, name)| calling([ToolCall::new(id, name, id)])),
        (text(), text(), any::<bool>()).prop_map(|(id, text, is_error)| {
            let result = ToolResult::new(id, "t", text);
            if is_error { result.into_error() } else { result }.into()
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn roles_take_turns_and_no_text_is_empty(messages in prop::collection::vec(any_message(), 0..8)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let caching = PromptCaching::Conversation(CacheLifetime::OneHour);
        let request = ChatRequest::new([ChatMessage::user("q")].into_iter().chain(messages));
        let body = runtime.block_on(sent(&request, |b| b.prompt_caching(caching))).json();
        let messages = body["messages"].as_array().unwrap();
        for (index, message) in messages.iter().enumerate() {
            prop_assert_eq!(&message["role"], ["user", "assistant"][index % 2]);
            prop_assert_ne!(&message["content"], &json!([]));
        }
        let said = messages.iter().map(|message| &message["content"]).chain([&body["system"]]);
        for block in said.filter_map(Value::as_array).flatten() {
            let says = |text: &Value| text.as_str().is_none_or(|text| !text.trim().is_empty());
            prop_assert!(says(&block["text"]) && says(&block["content"]), "{}", block);
            prop_assert!(says(&block["id"]) && says(&block["tool_use_id"]), "{}", block);
        }
        prop_assert!(body.to_string().matches("cache_control").count() <= 3);
    }
}
