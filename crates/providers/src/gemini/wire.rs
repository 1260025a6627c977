//! The parts of answers, read tolerantly because gateways deviate.

use crate::protocol::tolerant::{Index, Text, count, first};
use ai_services_core::model::{FinishReason, TokenUsage};
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// A whole answer, or a piece of a streamed answer. Both have the same form.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Document<'a> {
    #[serde(borrow, default)]
    pub(super) response_id: Text<'a>,
    #[serde(borrow, default)]
    pub(super) model_version: Text<'a>,
    #[serde(borrow, default, deserialize_with = "first")]
    pub(super) candidates: Option<Candidate<'a>>,
    #[serde(borrow, default)]
    pub(super) prompt_feedback: Option<Feedback<'a>>,
    #[serde(default, deserialize_with = "usage")]
    pub(super) usage_metadata: Option<TokenUsage>,
    #[serde(borrow, default)]
    pub(super) error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Candidate<'a> {
    #[serde(default)]
    index: Index,
    #[serde(borrow, default)]
    pub(super) content: Option<Content<'a>>,
    #[serde(borrow, default)]
    pub(super) finish_reason: Text<'a>,
}

impl Candidate<'_> {
    /// Returns whether this is the first of several candidates.
    pub(super) fn is_first(&self) -> bool {
        self.index.0.is_none_or(|index| index == 0)
    }
}

#[derive(Deserialize)]
pub(super) struct Content<'a> {
    /// Raw, because some parts are sent back.
    #[serde(borrow, default)]
    pub(super) parts: Option<Vec<&'a RawValue>>,
}

/// The feedback about a request without an answer.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Feedback<'a> {
    #[serde(borrow, default)]
    pub(super) block_reason: Text<'a>,
    #[serde(borrow, default)]
    pub(super) block_reason_message: Text<'a>,
}

/// A part of a content.
#[derive(Debug, Default)]
pub(super) struct Part<'a> {
    pub(super) text: Option<Cow<'a, str>>,
    pub(super) is_thought: bool,
    pub(super) call: Option<FunctionCall<'a>>,
    /// `true` if the part has other members: a signature, an image, code.
    pub(super) has_more: bool,
}

#[derive(Debug, Deserialize)]
pub(super) struct FunctionCall<'a> {
    #[serde(borrow, default)]
    pub(super) id: Text<'a>,
    #[serde(borrow, default)]
    pub(super) name: Text<'a>,
    #[serde(borrow, default)]
    args: Option<&'a RawValue>,
}

impl FunctionCall<'_> {
    /// Returns the arguments as compact JSON. Calls of tools without parameters mostly have none.
    pub(super) fn arguments(&self) -> String {
        let raw = self.args.map_or("{}", RawValue::get);
        if raw.starts_with('"')
            && let Ok(Text(Some(text))) = serde_json::from_str::<Text<'_>>(raw)
        {
            return text.into_owned();
        }
        compact(raw)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Part<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;

        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        enum Member {
            Text,
            Thought,
            #[serde(alias = "function_call")]
            FunctionCall,
            #[serde(other)]
            Other,
        }

        impl<'de> Visitor<'de> for Members {
            type Value = Part<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a part of a content")
            }

            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok(Part::default())
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut part = Part::default();
                while let Some(member) = map.next_key()? {
                    match member {
                        Member::Text => part.text = map.next_value::<Text<'_>>()?.0,
                        Member::Thought => {
                            part.is_thought = map.next_value::<&RawValue>()?.get() == "true";
                        }
                        Member::FunctionCall => part.call = map.next_value()?,
                        Member::Other => {
                            part.has_more |= map.next_value::<Option<IgnoredAny>>()?.is_some();
                        }
                    }
                }
                Ok(part)
            }
        }

        deserializer.deserialize_any(Members)
    }
}

/// Removes white space between the tokens of JSON. Whole answers are pretty-printed.
pub(super) fn compact(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let (mut is_text, mut is_escaped) = (false, false);
    for character in json.chars() {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' if is_text => is_escaped = true,
            '"' => is_text = !is_text,
            ' ' | '\n' | '\r' | '\t' if !is_text => continue,
            _ => {}
        }
        out.push(character);
    }
    out
}

/// Returns the finish reason, if the server sent one.
pub(super) fn finish_reason(reason: Text<'_>, has_calls: bool) -> Option<FinishReason> {
    let reason = reason.into_some()?;
    Some(match reason.to_ascii_uppercase().as_str() {
        "STOP" if has_calls => FinishReason::ToolExecution,
        "STOP" => FinishReason::Stop,
        "MAX_TOKENS" | "CONTINUATION" => FinishReason::Length,
        "SAFETY"
        | "RECITATION"
        | "BLOCKLIST"
        | "PROHIBITED_CONTENT"
        | "SPII"
        | "MODEL_ARMOR"
        | "ESCALATION"
        | "IMAGE_SAFETY"
        | "IMAGE_PROHIBITED_CONTENT"
        | "IMAGE_RECITATION" => FinishReason::ContentFilter,
        _ => FinishReason::Other(reason.into()),
    })
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Usage {
    #[serde(default, deserialize_with = "count")]
    prompt_token_count: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    tool_use_prompt_token_count: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    cached_content_token_count: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    candidates_token_count: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    thoughts_token_count: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    total_token_count: Option<u64>,
}

impl From<Usage> for TokenUsage {
    fn from(usage: Usage) -> Self {
        let mut tokens = Self::default()
            .with_cached_input(usage.cached_content_token_count)
            .with_reasoning(usage.thoughts_token_count)
            .with_total(usage.total_token_count);
        tokens.input = sum(usage.prompt_token_count, usage.tool_use_prompt_token_count);
        tokens.output = sum(usage.candidates_token_count, usage.thoughts_token_count);
        tokens
    }
}

fn sum(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.saturating_add(b)),
        (a, b) => a.or(b),
    }
}

/// Reads the token usage, if the server sent it.
pub(super) fn usage<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<TokenUsage>, D::Error> {
    Ok(Option::<Usage>::deserialize(deserializer)?.map(TokenUsage::from))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_within_strings_is_kept() {
        let pretty = "{\n  \"a b\": [1, \"x \\\" y\\\\\" ],\t\"c\" : \"\u{e9} \" }";
        assert_eq!(compact(pretty), "{\"a b\":[1,\"x \\\" y\\\\\"],\"c\":\"\u{e9} \"}");
    }

    #[test]
    fn part_is_read_in_every_form() {
        let read = |json| serde_json::from_str::<Part<'_>>(json).unwrap();
        let text = read(r#"{"text":"a","thought":true}"#);
        assert_eq!(
            (text.text.as_deref(), text.is_thought, text.has_more),
            (Some("a"), true, false)
        );
        assert!(read(r#"{"text":"a","thoughtSignature":"c2ln"}"#).has_more);
        assert!(!read(r#"{"text":"a","videoMetadata":null}"#).has_more);
        let call = read(r#"{"functionCall":{"name":"f","args":{ "a": 1 }}}"#).call.unwrap();
        assert_eq!((call.name.0.as_deref(), &*call.arguments()), (Some("f"), r#"{"a":1}"#));
        assert_eq!(read(r#"{"functionCall":{"name":"f"}}"#).call.unwrap().arguments(), "{}");
        let quoted = read(r#"{"function_call":{"name":"f","args":"{\"a\":1}"}}"#).call.unwrap();
        assert_eq!(quoted.arguments(), r#"{"a":1}"#);
        assert!(read("null").text.is_none() && read("{}").call.is_none());
    }

    #[test]
    fn finish_reasons_are_translated() {
        let of = |reason: &str| finish_reason(Text(Some(reason.into())), false);
        assert_eq!(of("STOP"), Some(FinishReason::Stop));
        assert_eq!(
            finish_reason(Text(Some("STOP".into())), true),
            Some(FinishReason::ToolExecution)
        );
        assert_eq!(of("max_tokens"), Some(FinishReason::Length));
        assert_eq!(of("SPII"), Some(FinishReason::ContentFilter));
        let other = FinishReason::Other("MALFORMED_FUNCTION_CALL".into());
        assert_eq!(of("MALFORMED_FUNCTION_CALL"), Some(other));
        assert_eq!(of(""), None);
    }
}
