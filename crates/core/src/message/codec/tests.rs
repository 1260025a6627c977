use super::*;
use crate::message::{
    AiMessage, Attributes, AudioContent, CustomMessage, ImageContent, ImageDetail, Media,
    MediaSource, PdfContent, ProviderContent, ToolCall, ToolResult, UserMessage, VideoContent,
};

fn read(json: &str) -> Vec<ChatMessage> {
    messages_from_json(json).unwrap().to_vec()
}

#[test]
fn json_matches_langchain4j() {
    let json = |message: ChatMessage| serde_json::to_string(&message).unwrap();
    assert_eq!(json(ChatMessage::system("hello")), r#"{"type":"SYSTEM","text":"hello"}"#);
    assert_eq!(
        json(UserMessage::new("hello").with_name("Klaus").into()),
        r#"{"type":"USER","name":"Klaus","contents":[{"type":"TEXT","text":"hello"}]}"#
    );
    assert_eq!(
        json(ToolResult::new("1", "t", "x").into_error().into()),
        r#"{"type":"TOOL_EXECUTION_RESULT","id":"1","toolName":"t","contents":[{"type":"TEXT","text":"x"}],"isError":true,"attributes":{}}"#
    );
}

#[test]
fn every_kind_survives_a_round_trip() {
    let attributes: Attributes = [("k".to_owned(), 1.into())].into_iter().collect();
    let messages: Vec<ChatMessage> = vec![
        ChatMessage::system("s"),
        UserMessage::from_contents([
            "look".into(),
            ImageContent::base64("aGk=", "image/png").with_detail(ImageDetail::High).into(),
            AudioContent::url("http://x/y.mp3").into(),
            VideoContent::url("http://x/y.mp4").into(),
            PdfContent::url("http://x/y.pdf").into(),
        ])
        .with_attributes(attributes.clone())
        .into(),
        AiMessage::builder()
            .text("t")
            .thinking("hm")
            .refusal("no")
            .provider_content(ProviderContent::from_json("p", r#"[1.0, {"b": "\u00e9"}]"#).unwrap())
            .tool_calls([ToolCall::new("", "a", "{"), ToolCall::new("2", "b", "{}")])
            .attributes(attributes.clone())
            .build()
            .into(),
        ToolResult::new("2", "b", "").with_attributes(attributes.clone()).into(),
        CustomMessage::new(attributes).into(),
    ];
    assert_eq!(read(&messages_to_json(&messages).unwrap()), messages);
}

#[test]
fn single_message_survives_a_round_trip() {
    let message = UserMessage::new("hello").with_name("Klaus").into();
    let json = message_to_json(&message).unwrap();
    assert_eq!(message_from_json(&json).unwrap(), message);
    for json in ["", "[]", "null", r#"{"v":1,"messages":[]}"#, r#"{"type":"NEW"}"#] {
        assert_eq!(message_from_json(json).unwrap_err().kind(), ErrorKind::Store, "{json}");
    }
}

#[test]
fn older_and_bare_forms_are_accepted() {
    assert_eq!(read("").len() + read("null").len() + read("[]").len(), 0);
    assert_eq!(read(r#"[{"type":"AI"}]"#), [AiMessage::builder().build().into()]);
    assert_eq!(
        read(r#"[{"id":"1","toolName":"w","text":"sunny","type":"TOOL_EXECUTION_RESULT"}]"#),
        [ToolResult::new("1", "w", "sunny").into()]
    );
    let bytes = Media { source: MediaSource::Base64("AQID".into()), media_type: None };
    assert_eq!(
        read(r#"[{"contents":[{"audio":{"binaryData":"AQID"},"type":"AUDIO"}],"type":"USER"}]"#),
        [UserMessage::from_contents([AudioContent::new(bytes).into()]).into()]
    );
}

#[test]
fn unknown_versions_and_types_are_rejected() {
    let message = |json| messages_from_json(json).unwrap_err().to_string();
    assert_eq!(
        message(r#"{"v":2,"messages":[{"type":"NEW"}]}"#),
        "stored messages have format version 2; this build reads up to 1"
    );
    for json in ["{", r#"[{"type":"NEW"}]"#, r#"{"v":1,"messages":[{"type":"NEW"}]}"#, "7"] {
        assert_eq!(message(json), "stored messages are not in a known format", "{json}");
    }
}

#[test]
fn malformed_provider_content_is_rejected() {
    let json = r#"[{"type":"AI","text":"a","providerContent":{"protocol":"p","json":"{"}}]"#;
    assert_eq!(messages_from_json(json).unwrap_err().kind(), ErrorKind::Store);
}
