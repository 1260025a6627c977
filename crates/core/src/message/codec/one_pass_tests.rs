//! Reading in one pass, compared with serde's reader of tagged enums, which collects the fields first.

use super::content::{WireAudio, WireImage, WirePdf, WireTextContent, WireVideo};
use super::text::WireText;
use super::wire::{WireAi, WireCustom, WireSystem};
use crate::message::{
    AiMessage, Attributes, AudioContent, ChatMessage, Content, CustomMessage, ImageContent,
    ImageDetail, Media, PdfContent, ProviderContent, SystemMessage, ToolCall, ToolResult,
    UserMessage, VideoContent, message_from_json, message_to_json,
};
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use serde::Deserialize;
use serde_json::Value;
use serde_json::error::Category;
use std::error::Error as _;

/// The messages, read by serde.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "SCREAMING_SNAKE_CASE")]
#[expect(dead_code, reason = "only the outcome of reading matters")]
enum Collected<'a> {
    System(#[serde(borrow)] WireSystem<'a>),
    User(#[serde(borrow)] CollectedUser<'a>),
    Ai(#[serde(borrow)] WireAi<'a>),
    ToolExecutionResult(#[serde(borrow)] CollectedToolResult<'a>),
    Custom(#[serde(borrow)] WireCustom<'a>),
}

/// The fields of `WireUser`.
#[derive(Deserialize)]
#[expect(dead_code, reason = "only the outcome of reading matters")]
struct CollectedUser<'a> {
    #[serde(borrow)]
    name: Option<WireText<'a>>,
    #[serde(borrow, default)]
    contents: Vec<CollectedContent<'a>>,
    attributes: Option<Attributes>,
}

/// The fields of `WireToolResult`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "only the outcome of reading matters")]
struct CollectedToolResult<'a> {
    #[serde(borrow)]
    id: Option<WireText<'a>>,
    #[serde(borrow, default)]
    tool_name: WireText<'a>,
    #[serde(borrow, default)]
    contents: Vec<CollectedContent<'a>>,
    #[serde(borrow)]
    text: Option<WireText<'a>>,
    is_error: Option<bool>,
    attributes: Option<Attributes>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "SCREAMING_SNAKE_CASE")]
#[expect(dead_code, reason = "only the outcome of reading matters")]
enum CollectedContent<'a> {
    Text(#[serde(borrow)] WireTextContent<'a>),
    Image(#[serde(borrow)] WireImage<'a>),
    Audio(#[serde(borrow)] WireAudio<'a>),
    Video(#[serde(borrow)] WireVideo<'a>),
    Pdf(#[serde(borrow)] WirePdf<'a>),
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        "[a-z \"\\\\\n\u{0}é你🦀]{0,12}",
        Just("{\"type\":\"USER\"}".to_owned()),
    ]
}

fn attributes() -> impl Strategy<Value = Attributes> {
    let value = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        // serde_json does not read every number back exactly.
        any::<i16>().prop_map(|number| (f64::from(number) / 8.0).into()),
        text().prop_map(Value::from),
        Just(serde_json::json!({"type": "AI", "a": [{"type": 1}]})),
    ];
    let key = prop_oneof![text(), Just("type".to_owned()), Just("text".to_owned())];
    btree_map(key, value, 0..3).prop_map(|map| map.into_iter().collect())
}

fn media() -> impl Strategy<Value = Media> {
    (any::<bool>(), text(), option::of(text())).prop_map(|(is_url, data, kind)| {
        let media = if is_url { Media::url(data) } else { Media::base64(data, "x") };
        Media { media_type: kind.map(Into::into), ..media }
    })
}

fn content() -> impl Strategy<Value = Content> {
    use ImageDetail::{Auto, High, Low, Medium, UltraHigh};
    let detail = prop::sample::select(vec![Low, Medium, High, UltraHigh, Auto]);
    prop_oneof![
        text().prop_map(Content::from),
        (media(), detail)
            .prop_map(|(media, detail)| ImageContent::new(media).with_detail(detail).into()),
        media().prop_map(|media| AudioContent::new(media).into()),
        media().prop_map(|media| VideoContent::new(media).into()),
        media().prop_map(|media| PdfContent::new(media).into()),
    ]
}

fn answer() -> impl Strategy<Value = ChatMessage> {
    let call = (text(), text(), text()).prop_map(|(id, name, args)| ToolCall::new(id, name, args));
    let own = (text(), attributes()).prop_map(|(protocol, json)| {
        ProviderContent::from_json(protocol, Value::Object(json).to_string()).unwrap()
    });
    let texts = [0; 3].map(|_| option::of(text()));
    (texts, option::of(own), vec(call, 0..3), attributes()).prop_map(
        |([text, thinking, refusal], own, calls, attributes)| {
            let mut message = AiMessage::builder().tool_calls(calls).attributes(attributes);
            message = text.into_iter().fold(message, |message, it| message.text(it));
            message = thinking.into_iter().fold(message, |message, it| message.thinking(it));
            message = refusal.into_iter().fold(message, |message, it| message.refusal(it));
            message = own.into_iter().fold(message, |message, it| message.provider_content(it));
            message.build().into()
        },
    )
}

fn message() -> impl Strategy<Value = ChatMessage> {
    let user = (vec(content(), 0..3), option::of(text()), attributes());
    let result = (text(), text(), vec(content(), 0..3), any::<bool>(), attributes());
    prop_oneof![
        text().prop_map(|text| SystemMessage::new(text).into()),
        user.prop_map(|(contents, name, attributes)| {
            let message = UserMessage::from_contents(contents).with_attributes(attributes);
            match name {
                Some(name) => message.with_name(name).into(),
                None => message.into(),
            }
        }),
        answer(),
        result.prop_map(|(id, name, contents, is_error, attributes)| {
            let result = ToolResult::from_contents(id, name, contents).with_attributes(attributes);
            if is_error { result.into_error().into() } else { result.into() }
        }),
        attributes().prop_map(|attributes| CustomMessage::new(attributes).into()),
    ]
}

/// Writes JSON with the fields of every object in another order, which depends on `seed`.
fn permuted(value: &Value, seed: &mut u64) -> String {
    let json = |value: &Value| value.to_string();
    match value {
        Value::Array(values) => {
            let values: Vec<_> = values.iter().map(|value| permuted(value, seed)).collect();
            format!("[{}]", values.join(","))
        }
        Value::Object(fields) => {
            let mut all: Vec<_> = fields
                .iter()
                .map(|(key, value)| {
                    format!("{}: {}", json(&key.as_str().into()), permuted(value, seed))
                })
                .collect();
            for end in (1..all.len()).rev() {
                *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                all.swap(end, (*seed >> 33) as usize % (end + 1));
            }
            format!("{{ {} }}", all.join(" , "))
        }
        other => json(other),
    }
}

/// Returns the reason of an error without the position in the text and the name of the type, which depend on the
/// reader.
fn reason(error: &serde_json::Error) -> String {
    let reason = error.to_string();
    let reason = reason.split(" at line ").next().unwrap_or_default();
    ["CollectedContent", "Collected"].iter().fold(reason.to_owned(), |reason, name| {
        reason.replace(&format!("internally tagged enum {name}"), "an object with a `type`")
    })
}

/// Compares the outcome of reading `json` with serde's.
fn check(json: &[u8]) -> Result<(), TestCaseError> {
    let expected = serde_json::from_slice::<Collected<'_>>(json);
    let outcome = serde_json::from_slice::<ChatMessage>(json);
    let shown = String::from_utf8_lossy(json);
    match (&expected, &outcome) {
        // `unwire` rejects it.
        (Ok(_), Err(error)) => {
            let reason = reason(error);
            prop_assert!(
                reason.contains("neither `url` nor") || reason.contains("provider's content"),
                "{shown}: {reason}"
            );
        }
        // serde also reads an enum from an array, which nothing writes.
        (Err(_), Err(error)) if reason(error).starts_with("invalid type: sequence") => {}
        // serde finds a mistake in the JSON before it reads the fields.
        (Err(expected), Err(_)) if expected.classify() != Category::Data => {}
        (Err(expected), Err(error)) => {
            prop_assert_eq!(reason(expected), reason(error), "{}", shown);
            prop_assert_eq!(expected.classify(), error.classify(), "{}", shown);
        }
        (Ok(_), Ok(_)) => {}
        (Err(error), Ok(_)) => prop_assert!(false, "{shown}: serde fails with {error}"),
    }
    Ok(())
}

proptest! {
    #[test]
    fn order_of_the_fields_is_irrelevant(message in message(), mut seed in any::<u64>()) {
        let json = message_to_json(&message).unwrap();
        prop_assert!(json.starts_with(r#"{"type":""#), "{}", json);
        prop_assert_eq!(&message_from_json(&json).unwrap(), &message);
        let permuted = permuted(&serde_json::from_str(&json).unwrap(), &mut seed);
        prop_assert_eq!(&message_from_json(&permuted).unwrap(), &message, "{}", permuted);
        check(permuted.as_bytes())?;
    }
}

proptest! {
    // Each case reads some thousand texts.
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Every byte in turn is replaced or removed, or the text ends there.
    #[test]
    fn damaged_text_is_read_as_by_serde(message in message(), mut seed in any::<u64>()) {
        let json = message_to_json(&message).unwrap();
        let permuted = permuted(&serde_json::from_str(&json).unwrap(), &mut seed);
        for json in [json, permuted] {
            for at in 0..json.len() {
                let mut data = json.clone().into_bytes();
                for byte in *b"\"\\{}[],:0-etn \x00\xff" {
                    data[at] = byte;
                    check(&data)?;
                }
                data.remove(at);
                check(&data)?;
                check(&json.as_bytes()[..at])?;
            }
        }
    }
}

#[test]
fn fields_are_read_as_by_serde() {
    for json in [
        "{}",
        "7",
        r#"{"text":"a"}"#,
        r#"{"type":"NEW","text":"a"}"#,
        r#"{"text":"a","type":"NEW"}"#,
        r#"{"type":7}"#,
        r#"{"type":null}"#,
        r#"{"type":{"USER":null}}"#,
        r#"{"type":"SYSTEM"}"#,
        r#"{"type":"SYSTEM","text":null}"#,
        r#"{"text":7,"type":"SYSTEM"}"#,
        r#"{"type":"SYSTEM","text":7}"#,
        r#"{"type":"SYSTEM","text":"a","type":"SYSTEM"}"#,
        r#"{"type":"SYSTEM","type":"USER","text":"a"}"#,
        r#"{"text":"a","text":"b","type":"SYSTEM"}"#,
        r#"{"type":"SYSTEM","text":"a","text":"b"}"#,
        r#"{"text":"a","type":"SYSTEM","text":"b"}"#,
        r#"{"type":"SYSTEM","text":"a","contents":7,"contents":8}"#,
        r#"{"ty\u0070e":"SYSTEM","t\u0065xt":"\ud83e\udd80"}"#,
        r#"{"type":"SYSTEM","text":"\ud83e"}"#,
        r#"{"type":"USER","contents":null}"#,
        r#"{"type":"USER","contents":[{"text":"a","type":"TEXT"}],"attributes":null}"#,
        r#"{"type":"USER","contents":[{"type":"TEXT","text":"a","type":"TEXT"}]}"#,
        r#"{"type":"USER","contents":[{"type":"NEW","text":"a"}]}"#,
        r#"{"type":"USER","contents":[{"type":"IMAGE","image":{}}]}"#,
        r#"{"type":"USER","contents":[{"type":"IMAGE","image":{"url":"a","url":"b"}}]}"#,
        r#"{"type":"USER","contents":[{"detailLevel":"NEW","type":"IMAGE","image":{"url":"a"}}]}"#,
        r#"{"type":"AI","contents":[7],"name":{"type":[]},"toolExecutionRequests":[]}"#,
        r#"{"type":"AI","toolExecutionRequests":[{"id":"1"}]}"#,
        r#"{"type":"AI","providerContent":{"protocol":"p","json":"{"}}"#,
        r#"{"isError":1,"type":"TOOL_EXECUTION_RESULT"}"#,
        r#"{"type":"TOOL_EXECUTION_RESULT","toolName":null}"#,
        r#"{"type":"CUSTOM","attributes":[]}"#,
        r#"{"type":"CUSTOM","attributes":{}} 7"#,
    ] {
        check(json.as_bytes()).unwrap();
        // The error names the cause.
        if let Err(error) = message_from_json(json) {
            assert!(error.source().is_some(), "{json}");
        }
    }
}

#[test]
fn array_is_not_a_message() {
    assert!(message_from_json(r#"["SYSTEM","a"]"#).is_err());
}
