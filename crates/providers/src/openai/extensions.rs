//! Non-standard fields of compatible servers that later requests have to repeat: signatures of
//! thoughts, and encrypted thoughts.

use super::PROTOCOL;
use crate::protocol::raw_object::RawObject;
use ai_services_core::message::{AiMessage, ProviderContent};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// The non-standard members of an assistant message.
#[derive(Default, Deserialize, Serialize)]
pub(super) struct MessageExtensions<'a> {
    /// Thoughts with their signatures, at OpenRouter.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub(super) reasoning_details: Option<&'a RawValue>,
    /// Signatures, at Gemini's compatible endpoint.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub(super) extra_content: Option<&'a RawValue>,
    /// The `extra_content` of each call.
    #[serde(borrow, default, skip_serializing_if = "Vec::is_empty")]
    pub(super) calls: Vec<Option<&'a RawValue>>,
}

impl<'a> MessageExtensions<'a> {
    /// Returns the extensions of a message. Extensions of calls are dropped if their number is
    /// wrong.
    pub(super) fn of(message: &'a AiMessage) -> Self {
        let json = message.provider_content().and_then(|content| content.json_of(PROTOCOL));
        // Other clients may have stored anything under this name.
        let mut extensions: Self =
            json.and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default();
        if extensions.calls.len() != message.tool_calls().len() {
            extensions.calls.clear();
        }
        extensions
    }

    /// Returns whether a message has extensions.
    pub(super) fn are_in(message: &AiMessage) -> bool {
        message.provider_content().is_some_and(|content| content.protocol() == PROTOCOL)
    }

    /// Returns the form in which a message keeps the extensions; `None` if there are none.
    pub(super) fn into_content(mut self) -> Option<ProviderContent> {
        self.reasoning_details = self.reasoning_details.filter(|details| !is_empty(details));
        self.extra_content = self.extra_content.filter(|extra| !marks_a_thought(extra));
        if self.calls.iter().all(Option::is_none) {
            self.calls.clear();
            if self.reasoning_details.is_none() && self.extra_content.is_none() {
                return None;
            }
        }
        // The object is assembled from JSON, so it is valid JSON.
        ProviderContent::from_json(PROTOCOL, serde_json::to_string(&self).ok()?).ok()
    }
}

fn is_empty(details: &RawValue) -> bool {
    matches!(details.get(), "[]" | "{}" | "\"\"")
}

/// Returns whether the content only marks a text as a thought. Sent back with a whole answer, the
/// mark would turn all of it into a thought.
pub(super) fn marks_a_thought(extra: &RawValue) -> bool {
    let json = extra.get();
    let own = json.chars().filter(|character| !character.is_ascii_whitespace());
    is_empty(extra) || own.eq(r#"{"google":{"thought":true}}"#.chars())
}

/// The `reasoning_details` of a stream: the lists of all events, which are merged at the end.
#[derive(Default)]
pub(super) struct Details(String);

impl Details {
    /// Adds the details of an event. Values other than lists are ignored.
    pub(super) fn add(&mut self, list: &RawValue) {
        if list.get().starts_with('[') && !is_empty(list) {
            self.0.push_str(list.get());
        }
    }

    /// Merges the details into one list.
    pub(super) fn into_list(self) -> Option<Box<RawValue>> {
        if self.0.is_empty() {
            return None;
        }
        let mut list = String::with_capacity(self.0.len() + 2);
        let mut last = None;
        let lists = serde_json::Deserializer::from_str(&self.0).into_iter::<Vec<&RawValue>>();
        for item in lists.map_while(Result::ok).flatten() {
            add(item, &mut last, &mut list);
        }
        end(&mut last, &mut list);
        RawValue::from_string(format!("[{list}]")).ok()
    }
}

/// Adds an item to the last detail, or starts another one.
fn add<'a>(item: &'a RawValue, last: &mut Option<Detail<'a>>, list: &mut String) {
    match (RawObject::of(item), last.as_mut()) {
        (Ok(piece), Some(last)) if last.continues_with(&piece) => last.add(piece),
        (Ok(piece), _) => {
            end(last, list);
            *last = Some(Detail::of(piece));
        }
        (Err(_), _) => {
            end(last, list);
            begin(list);
            list.push_str(item.get());
        }
    }
}

/// Writes the last detail.
fn end(last: &mut Option<Detail<'_>>, list: &mut String) {
    if let Some(detail) = last.take() {
        begin(list);
        detail.write(list);
    }
}

fn begin(list: &mut String) {
    if !list.is_empty() {
        list.push(',');
    }
}

/// Members whose pieces are concatenated. Of other members the last value counts.
const JOINED: [&str; 3] = ["text", "summary", "data"];

/// Maximum number of members of a detail that is merged. Members are searched linearly, and real
/// details have far fewer.
const MAX_MEMBERS: usize = 32;

/// A detail received so far: its members in the order of arrival.
struct Detail<'a>(Vec<(Cow<'a, str>, Member<'a>)>);

enum Member<'a> {
    Whole(&'a RawValue),
    /// A string as JSON, without the closing quote.
    Joined(String),
}

impl<'a> Detail<'a> {
    fn of(piece: RawObject<'a>) -> Self {
        Self(piece.0.into_iter().map(|(name, value)| (name, Member::Whole(value))).collect())
    }

    /// Returns whether a piece belongs to this detail. Servers number details, but some give one
    /// number to a summary and its encrypted form, or to thoughts about several calls.
    fn continues_with(&self, piece: &RawObject<'a>) -> bool {
        if self.0.len() > MAX_MEMBERS || piece.0.len() > MAX_MEMBERS {
            return false;
        }
        let both = |name: &str| [self.value(name), piece.get(name).and_then(non_null)];
        let is_same = |name: &str| match both(name) {
            [Some(own), Some(other)] => Some(own == other),
            _ => None,
        };
        let (index, id) = (is_same("index"), is_same("id"));
        match [is_same("type"), index, id] {
            [Some(false), ..] | [_, Some(false), _] | [.., Some(false)] => false,
            // Encrypted thoughts arrive whole: two are separate unless the server gives them one
            // number or id.
            _ if index.is_none() && id.is_none() => {
                is_same("type").is_some() && both("data").iter().any(Option::is_none)
            }
            _ => true,
        }
    }

    fn value(&self, name: &str) -> Option<&str> {
        match self.0.iter().find(|(own, _)| own == name)? {
            (_, Member::Whole(value)) => non_null(value),
            (_, Member::Joined(text)) => Some(text),
        }
    }

    fn add(&mut self, piece: RawObject<'a>) {
        for (name, value) in piece.0 {
            match self.0.iter_mut().find(|(own, _)| *own == name) {
                Some((name, own)) => own.add(value, JOINED.contains(&&**name)),
                None => self.0.push((name, Member::Whole(value))),
            }
        }
    }

    fn write(&self, out: &mut String) {
        out.push('{');
        for (index, (name, value)) in self.0.iter().enumerate() {
            if index > 0 {
                out.push(',');
            }
            // Strings always serialize.
            out.push_str(&serde_json::to_string(name).unwrap_or_default());
            out.push(':');
            match value {
                Member::Whole(value) => out.push_str(value.get()),
                Member::Joined(text) => {
                    out.push_str(text);
                    out.push('"');
                }
            }
        }
        out.push('}');
    }
}

impl<'a> Member<'a> {
    fn add(&mut self, value: &'a RawValue, is_joined: bool) {
        let Some(json) = non_null(value) else { return };
        let more = json.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
        match (more.filter(|_| is_joined), &mut *self) {
            (Some(more), Self::Joined(text)) => text.push_str(more),
            (Some(more), Self::Whole(own)) => {
                let own = own.get().strip_suffix('"');
                *self = own.map_or(Self::Whole(value), |own| Self::Joined([own, more].concat()));
            }
            (None, _) => *self = Self::Whole(value),
        }
    }
}

/// Returns the JSON of a value, unless it is `null`.
fn non_null(value: &RawValue) -> Option<&str> {
    Some(value.get()).filter(|json| *json != "null")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the merged lists of these events.
    fn joined(lists: &[&str]) -> Option<String> {
        let mut details = Details::default();
        for list in lists {
            details.add(serde_json::from_str(list).unwrap());
        }
        Some(details.into_list()?.get().to_owned())
    }

    #[test]
    fn pieces_with_one_number_are_merged() {
        let lists = [
            r#"[{"type":"reasoning.text","text":"a\n","signature":null,"index":0,"n":1.50}]"#,
            r#"[{"type":"reasoning.text","text":"\ud83d","index":0}]"#,
            r#"[ {"text":"\ude00 b", "index":0, "format":"f"},
                {"type":"reasoning.text","signature":"c2ln","index":0,"format":null,"id":"i"}]"#,
            r#"[{"type":"reasoning.text","text":"c","index":1}]"#,
        ];
        let expected = r#"[{"type":"reasoning.text","text":"a\n\ud83d\ude00 b","signature":"c2ln","index":0,"n":1.50,"format":"f","id":"i"},{"type":"reasoning.text","text":"c","index":1}]"#;
        assert_eq!(joined(&lists).as_deref(), Some(expected));
    }

    #[test]
    fn unnumbered_pieces_with_one_type_and_id_are_merged() {
        let piece =
            |id: &str, text: &str| format!(r#"[{{"type":"t","id":{id},"summary":"{text}"}}]"#);
        let lists =
            [piece("null", "a"), piece("null", "b"), piece("\"x\"", "c"), piece("\"y\"", "d")];
        let lists = lists.each_ref().map(String::as_str);
        let expected =
            r#"[{"type":"t","id":"x","summary":"abc"},{"type":"t","id":"y","summary":"d"}]"#;
        assert_eq!(joined(&lists).as_deref(), Some(expected));
    }

    #[test]
    fn details_with_another_type_or_id_stay_separate() {
        let details = [
            r#"{"type":"reasoning.summary","summary":"a","index":0}"#,
            r#"{"type":"reasoning.encrypted","data":"QQ==","id":"c1","index":0}"#,
            r#"{"type":"reasoning.encrypted","data":"Qg==","id":"c2","index":0}"#,
            r#"{"type":"reasoning.encrypted","data":"Qw=="}"#,
            r#"{"type":"reasoning.encrypted","data":"RA=="}"#,
        ];
        let lists = details.map(|detail| format!("[{detail}]"));
        let whole = format!("[{}]", details.join(","));
        assert_eq!(joined(&lists.each_ref().map(String::as_str)), Some(whole));
    }

    #[test]
    fn unknown_items_are_kept_and_invalid_lists_ignored() {
        let lists = ["null", "7", r#""x""#, "{}", "[]", r#"[1,"x"]"#, r#"[{"text":1},null,[ ]]"#];
        assert_eq!(joined(&lists).as_deref(), Some(r#"[1,"x",{"text":1},null,[ ]]"#));
        assert_eq!(joined(&lists[..5]), None);
        let lists = [
            r#"[{"type":1,"text":"a"}]"#,
            r#"[{"type":1,"text":2}]"#,
            r#"[{"type":1,"text":"b"}]"#,
        ];
        assert_eq!(joined(&lists).as_deref(), Some(r#"[{"type":1,"text":"b"}]"#));
    }

    #[test]
    fn details_with_too_many_members_are_not_merged() {
        let wide: Vec<_> = (0..=MAX_MEMBERS).map(|name| format!("\"{name}\":0")).collect();
        let wide = format!(r#"{{"index":0,{}}}"#, wide.join(","));
        let list = format!("[{wide},{wide}]");
        assert_eq!(joined(&[&list]), Some(list));
    }

    #[test]
    fn empty_extensions_are_not_kept() {
        let of = |details, extra| {
            let (details, extra) = (serde_json::from_str(details), serde_json::from_str(extra));
            let calls = vec![None, None];
            let extensions = MessageExtensions {
                reasoning_details: details.ok(),
                extra_content: extra.ok(),
                calls,
            };
            extensions.into_content().map(|content| content.json().to_owned())
        };
        for nothing in ["[]", "{}", "\"\""] {
            assert_eq!(of(nothing, nothing), None);
        }
        assert_eq!(of("[]", r#"{ "google": { "thought": true } }"#), None);
        let signature = r#"{"google":{"thought_signature":"c2ln"}}"#;
        assert_eq!(
            of("\"x\"", signature),
            Some(format!(r#"{{"reasoning_details":"x","extra_content":{signature}}}"#))
        );
    }
}
