//! Answers of a type, whole and in pieces.

use crate::ErrorKind;
use crate::message::AiMessage;
use crate::model::ChatResponse;
use crate::output::{Growing, Output, UnreadableAnswer};
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
