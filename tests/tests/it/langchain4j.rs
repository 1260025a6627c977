//! Messages that move to LangChain4j and back, through its own codec.

use crate::combinators::requests::message;
use ai_services::message::{
    AiMessage, AudioContent, ChatMessage, Content, ImageContent, PdfContent, SystemMessage,
    ToolResult, UserMessage, VideoContent, messages_from_json, messages_to_langchain4j_json,
};
use ai_services_tests::langchain4j::{self, Codec};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use std::cell::RefCell;

/// Number of random lists in each direction.
const LISTS: u32 = 400;

#[test]
fn messages_move_to_langchain4j_and_back() {
    let Some(mut codec) = langchain4j::start() else { return };
    ours_are_read(&mut codec);
    rejected_values_are_replaced(&mut codec);
    theirs_are_read(&mut codec);
}

/// Returns the messages after LangChain4j has read and written them.
fn rewritten(codec: &mut Codec, messages: &[ChatMessage]) -> Vec<ChatMessage> {
    let json = messages_to_langchain4j_json(messages).unwrap();
    let answer = codec.run("rewrite", &json);
    let read = messages_from_json(&answer);
    read.unwrap_or_else(|error| panic!("{error}\n{json}\n{answer}")).to_vec()
}

fn ours_are_read(codec: &mut Codec) {
    let codec = RefCell::new(codec);
    let config = Config { cases: LISTS, failure_persistence: None, ..Config::default() };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(config, rng);
    // `serde_json` reads numbers with more digits with an error of one unit in the last place.
    let floats = any::<i32>().prop_map(|number| f64::from(number) / 8.0).boxed();
    let messages = prop::collection::vec(message(floats), 1..4);
    let outcome = runner.run(&messages, |messages| {
        let expected: Vec<_> = messages.iter().filter_map(known).collect();
        prop_assert_eq!(rewritten(*codec.borrow_mut(), &messages), expected);
        Ok(())
    });
    outcome.unwrap();
}

/// Returns the parts of a message for which LangChain4j has a form.
fn known(message: &ChatMessage) -> Option<ChatMessage> {
    Some(match message {
        ChatMessage::System(system) if system.text().is_empty() => return None,
        ChatMessage::User(user) if user.contents().is_empty() => {
            with_name(UserMessage::new(""), user.name())
        }
        ChatMessage::User(user) => {
            let contents = user.contents().iter().map(with_encoded_url);
            with_name(UserMessage::from_contents(contents), user.name())
        }
        ChatMessage::ToolResult(result) if result.contents().is_empty() => {
            with_error(ToolResult::new(result.id(), result.tool_name(), ""), result.is_error())
        }
        ChatMessage::ToolResult(result) => {
            let contents = result.contents().iter().map(with_encoded_url);
            let contents = ToolResult::from_contents(result.id(), result.tool_name(), contents);
            with_error(contents, result.is_error())
        }
        other => other.clone(),
    })
}

fn with_encoded_url(content: &Content) -> Content {
    match content {
        Content::Image(image) if image == &ImageContent::url("\"\\\n\u{2028}é😀") => {
            ImageContent::url("%22%5C%0A%E2%80%A8é😀").into()
        }
        other => other.clone(),
    }
}

fn with_error(result: ToolResult, is_error: bool) -> ChatMessage {
    if is_error { result.into_error() } else { result }.into()
}

/// Adds a name, unless it is empty.
fn with_name(message: UserMessage, name: Option<&str>) -> ChatMessage {
    match name {
        Some(name) if !name.is_empty() => message.with_name(name).into(),
        _ => message.into(),
    }
}

fn rejected_values_are_replaced(codec: &mut Codec) {
    let odd = r#"https://x/a b"<>\^`{|}%%4?[ä]#你#"#;
    let encoded = "https://x/a%20b%22%3C%3E%5C%5E%60%7B%7C%7D%25%254?%5Bä%5D#你%23";
    let media = |url: &str| -> ChatMessage {
        let contents = [
            ImageContent::url(url).into(),
            AudioContent::url(url).into(),
            VideoContent::url(url).into(),
            PdfContent::base64("aGk=", "application/pdf").into(),
        ];
        UserMessage::from_contents(contents).into()
    };
    let sent = [
        SystemMessage::new(" \n").into(),
        SystemMessage::new("\u{a0}").into(),
        media(odd),
        AiMessage::builder().text("a").refusal("b").build().into(),
    ];
    let read = [SystemMessage::new("\u{a0}").into(), media(encoded), ChatMessage::ai("a")];
    assert_eq!(rewritten(codec, &sent), read);
}

fn theirs_are_read(codec: &mut Codec) {
    for seed in 0..LISTS {
        let made = codec.run("make", &seed.to_string());
        let read = messages_from_json(&made).unwrap_or_else(|error| panic!("{error}\n{made}"));
        let json = messages_to_langchain4j_json(&read).unwrap();
        assert_eq!(codec.run("same", &json), "true", "{made}\n{json}");
    }
}
