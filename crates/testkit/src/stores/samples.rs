//! Messages and ids that are hard to store.

use ai_services_core::message::{
    AiMessage, Attributes, AudioContent, ChatMessage, Content, CustomMessage, ImageContent,
    ImageDetail, PdfContent, ProviderContent, ToolCall, ToolResult, UserMessage, VideoContent,
};
use serde_json::{Value, json};

/// Provider content, which has to be stored unchanged: with its white space and escapes.
const PROVIDER_CONTENT: &str = r#"[ {"type":"thinking","signature":"c2ln\u00e9"}, 1.0 ]"#;

/// Returns messages of all kinds, with all their fields.
pub(super) fn messages_of_every_kind() -> Vec<ChatMessage> {
    let calls = [
        ToolCall::new("call-1", "weather", r#"{"city":"Oslo","days":[1,2]}"#),
        ToolCall::new("call-2", "clock", "not JSON {"),
        ToolCall::new("", "", ""),
    ];
    let provider_content = ProviderContent::from_json("provider", PROVIDER_CONTENT).ok();
    let provider_message = provider_content
        .map(|content| AiMessage::builder().text("4").provider_content(content).build());
    let mut messages = vec![
        ChatMessage::system("Be brief."),
        ChatMessage::user("Hello!"),
        UserMessage::from_contents(contents())
            .with_name("Klaus")
            .with_attributes(attributes())
            .into(),
        ChatMessage::ai("Hi."),
        AiMessage::builder().tool_calls(calls.clone()).build().into(),
        ToolResult::new("call-1", "weather", "sunny").with_attributes(attributes()).into(),
        ToolResult::new("call-2", "clock", "it is broken").into_error().into(),
        ToolResult::from_contents("call-3", "camera", contents()).into(),
        AiMessage::builder()
            .text("Look.")
            .thinking("What would help?")
            .refusal("Not that.")
            .tool_calls(calls)
            .attributes(attributes())
            .build()
            .into(),
        AiMessage::builder().build().into(),
        CustomMessage::new(attributes()).into(),
        CustomMessage::new(Attributes::new()).into(),
        ChatMessage::system(""),
        ChatMessage::user(""),
        ChatMessage::ai(""),
        ChatMessage::tool_result("", "", ""),
        UserMessage::from_contents([]).into(),
        UserMessage::new("").with_name("").into(),
    ];
    messages.extend(provider_message.map(ChatMessage::from));
    messages
}

fn contents() -> Vec<Content> {
    let image = |detail| ImageContent::base64("aGVsbG8=", "image/png").with_detail(detail).into();
    let url = |path: &str| format!("https://example.org/{path}?a=1&b=%20");
    vec![
        "What is on these?".into(),
        image(ImageDetail::Low),
        image(ImageDetail::Medium),
        image(ImageDetail::High),
        image(ImageDetail::UltraHigh),
        ImageContent::url(url("cat.png")).with_detail(ImageDetail::Auto).into(),
        AudioContent::url(url("sound.mp3")).into(),
        VideoContent::base64("", "video/mp4").into(),
        PdfContent::url(url("paper.pdf")).into(),
        "".into(),
    ]
}

fn attributes() -> Attributes {
    let values = [
        ("", json!("")),
        ("null", Value::Null),
        ("numbers", json!([0, -1, u64::MAX, i64::MIN, 0.5, 1e300])),
        ("nested", json!({ "list": [{ "deep": true }, []], "v": 2, "sum": "x" })),
        ("quo\"te\0\n", json!("\u{2028}😀")),
    ];
    values.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Texts that are hard to store.
pub(super) const TEXTS: &[&str] = &[
    "",
    " ",
    "\0",
    "a\0b",
    "\u{1}\u{1f}\u{7f}\u{80}",
    "\r\n\t\\n\\",
    "\"quotes\" 'and' `more`",
    "'; DROP TABLE messages; --",
    "$1 ?1 :name %s {} {{name}}",
    "{\"v\":1,\"messages\":[]}",
    "\u{feff}begins with a byte order mark",
    "line\u{2028}and paragraph\u{2029}separators",
    "Grüße, Ελλάδα, עברית, हिन्दी, 日本語",
    "e\u{301} and é",
    "\u{202e}backwards",
    "😀👩\u{200d}👩\u{200d}👧 𝄞 \u{10ffff}",
    "\u{fffd}\u{fffe}\u{ffff}",
];

/// Names that an incorrect store confuses with each other or interprets.
#[rustfmt::skip]
const UNUSUAL_NAMES: &[&str] = &[
    // Case, white space and normalisation.
    "Klaus", "klaus", "KLAUS", "klaus ", " klaus", "klaus\t", "klaus\n", "klaus\0", "klaus\0x",
    "é", "e\u{301}", "ß", "ss", "İ", "i", "ｋ", "k", "k\u{200b}", "\u{feff}k",
    "1", "01", "1.0", "null",
    // Quotes, patterns, separators and comments of query languages.
    "'", "''", "\"", "`", "\\", "\\'", "%", "_", "*", "?", "[a-z]", "{a}", "a", "a:", "a:b", ":a",
    "a/b", "a/../b", "a|b", "a,b", "a b", "a;b", "--", "#", "$1", "{{id}}", "\r\nDEL x\r\n",
    "'; DROP TABLE x; --",
    // Rare characters.
    "\u{1}", "\u{2028}", "\u{202e}", "日本語", "😀", "😁", "\u{10ffff}",
];

/// Returns the unusual names, and two names that differ only after 4,000 bytes.
pub(super) fn unusual_names() -> impl Iterator<Item = String> {
    let long = ["a", "b"].map(|end| "x".repeat(4_000) + end);
    UNUSUAL_NAMES.iter().map(|name| (*name).to_owned()).chain(long)
}
