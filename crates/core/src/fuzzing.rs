//! Entry points of the fuzz targets of this crate: answers of a type, arguments of tools, histories and
//! stored rows. Each function takes arbitrary bytes and panics if an invariant does not hold.

use crate::ErrorKind;
use crate::memory::{MemoryId, Repair, Snapshot};
use crate::message::{AiMessage, ChatMessage, CustomMessage, Messages, ToolCall, ToolResult};
use crate::model::ChatResponse;
use crate::output::{Growing, Output, UnreadableAnswer};
use crate::store_kit::record;
use crate::tool::{ToolArguments, ToolParameter};
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::fmt::Debug;

/// One of everything.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq)]
struct Record {
    name: String,
    #[serde(default)]
    count: u8,
    #[serde(default)]
    ratio: Option<f64>,
    #[serde(default)]
    kind: Option<Kind>,
    #[serde(default)]
    parts: Vec<Part>,
    #[serde(default)]
    notes: BTreeMap<String, i64>,
}

#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq)]
struct Part {
    id: i32,
    #[serde(default)]
    done: bool,
}

#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Small,
    VeryLarge,
    Sized { bytes: u32 },
}

/// Reading an answer: it is a value or a typed error, and what a strict reader accepts is read as the
/// strict reader reads it.
pub fn output(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    reads::<Record>(&text);
    reads::<Kind>(&text);
    reads::<Vec<Part>>(&text);
    reads::<BTreeMap<String, i64>>(&text);
    reads::<Option<bool>>(&text);
    reads::<(i64, String)>(&text);
    assert_eq!(read::<String>(&text), Some(text.clone().into_owned()));
    if let Ok(record) = serde_json::from_str::<Record>(&text) {
        assert_eq!(read::<Record>(&text), Some(record));
    }
}

fn reads<T: DeserializeOwned + JsonSchema + Send>(text: &str) {
    read::<T>(text);
}

fn read<T: DeserializeOwned + JsonSchema + Send>(text: &str) -> Option<T> {
    let response = ChatResponse::new(AiMessage::new(text));
    match T::from_response(&response, &T::shape()) {
        Ok(value) => Some(value),
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Output, "{error:?}");
            assert!(error.detail::<UnreadableAnswer>().is_some(), "{error:?}");
            None
        }
    }
}

/// Reading an answer while it comes: how it is split does not matter for what is shown in the end.
///
/// The first byte says how it is split.
pub fn partial(input: &[u8]) {
    let Some((size, text)) = input.split_first() else { return };
    let text = String::from_utf8_lossy(text);
    grows::<Record>(&text, *size);
    grows::<Kind>(&text, *size);
    grows::<Vec<Part>>(&text, *size);
    grows::<String>(&text, *size);
}

fn grows<T: Output + Debug + PartialEq>(text: &str, size: u8) {
    let mut whole = Growing::<T>::new(T::shape());
    whole.push(text);
    let whole = whole.value();
    let mut pieces = Growing::<T>::new(T::shape());
    let mut last = None;
    let letters: Vec<char> = text.chars().collect();
    for piece in letters.chunks(usize::from(size).max(1)) {
        pieces.push(&piece.iter().collect::<String>());
        last = pieces.value().or(last);
        assert_eq!(pieces.value(), None, "nothing new is shown again");
    }
    // A value of a longer text may be late.
    if whole.is_some() && text.len() <= 256 {
        assert_eq!(last, whole, "split into {size}");
    }
}

/// Checks that arguments are values or errors, and that a value that a strict reader accepts is read as the
/// strict reader reads it.
pub fn tool_arguments(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    if let Ok(mut arguments) = ToolArguments::parse(&text) {
        for name in ["a", "name", "count", "parts"] {
            let _ = arguments.take::<i64>(name);
            let _ = arguments.take::<f32>(name);
            let _ = arguments.take::<Option<bool>>(name);
            let _ = arguments.take::<Vec<Part>>(name);
            let _ = arguments.take_or(name, String::new);
        }
    }
    agrees::<Record>(&text);
    agrees::<Kind>(&text);
    agrees::<Vec<Part>>(&text);
    agrees::<(i64, String)>(&text);
}

fn agrees<T: ToolParameter + Debug + PartialEq>(text: &str) {
    let Ok(expected) = serde_json::from_str::<T>(text) else { return };
    let wrapped = format!(r#"{{"a":{text}}}"#);
    let read = ToolArguments::parse(&wrapped).and_then(|mut arguments| arguments.take::<T>("a"));
    match read {
        Ok(value) => assert_eq!(value, expected),
        // The strict reader takes the last of several equal keys of a map.
        Err(error) => assert!(error.to_string().contains("duplicate key"), "{error}: {text}"),
    }
}

/// Checks that the repair of a history gives a history that needs no repair, and that its counts are right.
///
/// Two bytes are one message: its kind, and the ids of its calls or results.
pub fn history(input: &[u8]) {
    let messages: Vec<ChatMessage> = input.as_chunks().0.iter().map(message).collect();
    let (turns, repair) = Snapshot::new(Messages::from(messages.clone()), None).into_turns();
    let repaired: Vec<ChatMessage> = turns.messages().iter().cloned().collect();
    assert_eq!(repair.is_some(), repaired != messages, "{repair:?}: {messages:?}");
    let counts = repair.unwrap_or_default();
    assert_eq!(repaired.len() + counts.dropped, messages.len() + counts.added);
    assert_eq!(repair.is_some(), counts != Repair::default(), "{messages:?}");
    let (again, none) = Snapshot::new(Messages::from(repaired.clone()), None).into_turns();
    assert_eq!(none, None, "{repaired:?}");
    assert!(again.messages().iter().eq(&repaired));
    let lasts =
        |messages: &[ChatMessage]| messages.iter().rfind(|message| message.is_system()).cloned();
    assert_eq!(lasts(&repaired), lasts(&messages));
}

fn message([kind, ids]: &[u8; 2]) -> ChatMessage {
    let id = |ids: u8| (ids % 3).to_string();
    match kind % 6 {
        0 => ChatMessage::system(id(*ids)),
        1 => ChatMessage::user(id(*ids)),
        2 => ChatMessage::ai(id(*ids)),
        3 => {
            let calls = (0..=ids / 64).map(|call| ToolCall::new(id(ids >> (2 * call)), "f", "{}"));
            AiMessage::builder().tool_calls(calls).build().into()
        }
        4 => ToolResult::new(id(*ids), "f", "done").into(),
        _ => CustomMessage::new(serde_json::Map::new()).into(),
    }
}

/// Checks that a stored row is read or rejected, that a row is read as it was written, and that a changed
/// byte is detected.
pub fn record(input: &[u8]) {
    let id = MemoryId::from("id");
    let _ = record::decode(&id, 1, input);
    let message = ChatMessage::user(String::from_utf8_lossy(input));
    let Ok(mut row) = record::encode(&id, 1, &message).map(String::into_bytes) else {
        unreachable!("every text can be written");
    };
    assert_eq!(record::decode(&id, 1, &row).ok().as_ref(), Some(&message));
    assert!(record::decode(&id, 2, &row).is_err(), "a row in another place is rejected");
    let at = input.first().map_or(0, |first| usize::from(*first)) % row.len();
    if let Some(byte) = row.get_mut(at) {
        *byte ^= input.last().copied().unwrap_or(1).max(1);
    }
    if let Ok(read) = record::decode(&id, 1, &row) {
        assert_eq!(read, message, "byte {at}");
    }
}
