//! The parts of answers, read tolerantly because gateways deviate.

use crate::protocol::in_place::{First, InPlace, List, Object, Place, member, object};
use crate::protocol::tolerant::{Index, Text};
use ai_services_core::model::{FinishReason, TokenUsage};
use serde::Deserializer;
use serde::de::{IgnoredAny, MapAccess};
use serde_json::value::RawValue;
use std::borrow::Cow;

object! {
    /// A whole answer, or a piece of a streamed answer. Both have the same form.
    pub(super) struct Document<'a> {
        pub(super) response_id: Text<'a> = "responseId",
        pub(super) model_version: Text<'a> = "modelVersion",
        pub(super) candidates: First<Candidate<'a>> = "candidates",
        pub(super) prompt_feedback: Option<Feedback<'a>> = "promptFeedback",
        pub(super) usage_metadata: Option<Usage> = "usageMetadata",
        pub(super) error: Option<&'a RawValue> = "error",
    }

    pub(super) struct Candidate<'a> {
        index: Index = "index",
        pub(super) content: Option<Content<'a>> = "content",
        pub(super) finish_reason: Text<'a> = "finishReason",
    }

    pub(super) struct Content<'a> {
        /// Raw, because some parts are sent back.
        pub(super) parts: List<Option<&'a RawValue>> = "parts",
    }

    /// The feedback about a request without an answer.
    pub(super) struct Feedback<'a> {
        pub(super) block_reason: Text<'a> = "blockReason",
        pub(super) block_reason_message: Text<'a> = "blockReasonMessage",
    }

    #[derive(Debug)]
    pub(super) struct FunctionCall<'a> {
        pub(super) id: Text<'a> = "id",
        pub(super) name: Text<'a> = "name",
        args: Option<&'a RawValue> = "args",
    }

    /// The token usage, as the server counts it.
    pub(super) struct Usage {
        prompt_token_count: Option<u64> = "promptTokenCount",
        tool_use_prompt_token_count: Option<u64> = "toolUsePromptTokenCount",
        cached_content_token_count: Option<u64> = "cachedContentTokenCount",
        candidates_token_count: Option<u64> = "candidatesTokenCount",
        thoughts_token_count: Option<u64> = "thoughtsTokenCount",
        total_token_count: Option<u64> = "totalTokenCount",
    }
}

impl Candidate<'_> {
    /// Returns whether this is the first of several candidates.
    pub(super) fn is_first(&self) -> bool {
        self.index.0.is_none_or(|index| index == 0)
    }
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

impl<'de> Object<'de> for Part<'de> {
    fn read_members<A: MapAccess<'de>>(&mut self, mut map: A) -> Result<(), A::Error> {
        enum Member {
            Text,
            Thought,
            FunctionCall,
            Other,
        }

        let find = |name: &str| match name {
            "text" => Member::Text,
            "thought" => Member::Thought,
            "functionCall" | "function_call" => Member::FunctionCall,
            _ => Member::Other,
        };
        while let Some(member) = member(&mut map, find)? {
            match member {
                Member::Text => self.text = map.next_value::<Text<'_>>()?.0,
                Member::Thought => {
                    self.is_thought = map.next_value::<&RawValue>()?.get() == "true";
                }
                Member::FunctionCall => {
                    self.call = None;
                    map.next_value_seed(Place(&mut self.call))?;
                }
                Member::Other => {
                    self.has_more |= map.next_value::<Option<IgnoredAny>>()?.is_some();
                }
            }
        }
        Ok(())
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

impl From<&Usage> for TokenUsage {
    fn from(usage: &Usage) -> Self {
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
    let mut usage = None::<Usage>;
    usage.read(deserializer)?;
    Ok(usage.as_ref().map(TokenUsage::from))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::in_place::read_str;

    #[test]
    fn white_space_within_strings_is_kept() {
        let pretty = "{\n  \"a b\": [1, \"x \\\" y\\\\\" ],\t\"c\" : \"\u{e9} \" }";
        assert_eq!(compact(pretty), "{\"a b\":[1,\"x \\\" y\\\\\"],\"c\":\"\u{e9} \"}");
    }

    #[test]
    fn part_is_read_in_every_form() {
        let read = |json| {
            let mut part = None::<Part<'_>>;
            read_str(json, &mut part).unwrap();
            part.unwrap_or_default()
        };
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
