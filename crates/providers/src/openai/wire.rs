//! Parts of both whole and streamed answers.

use super::extensions::MessageExtensions;
use crate::protocol::tolerant::{Content, Index, Text, count, unquoted};
use ai_services_core::message::{AiMessage, ProviderContent, ToolCall};
use ai_services_core::model::{FinishReason, TokenUsage};
use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;
use std::mem::take;

/// The message of an answer, or the delta of a stream.
#[derive(Deserialize)]
pub(super) struct Message<'a> {
    #[serde(borrow, default)]
    pub(super) content: Content<'a>,
    #[serde(borrow, default)]
    pub(super) refusal: Text<'a>,
    /// Thinking at vLLM, llama.cpp, DeepSeek and others.
    #[serde(borrow, default)]
    pub(super) reasoning_content: Text<'a>,
    /// Thinking at OpenRouter, Ollama and Groq.
    #[serde(borrow, default)]
    pub(super) reasoning: Text<'a>,
    #[serde(borrow, default)]
    pub(super) tool_calls: Calls<'a>,
    /// See [`MessageExtensions`].
    #[serde(borrow, default)]
    pub(super) reasoning_details: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) extra_content: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub(super) struct Call<'a> {
    /// Number of the call in the answer, in streams.
    #[serde(default)]
    pub(super) index: Index,
    #[serde(borrow, default)]
    pub(super) id: Text<'a>,
    #[serde(borrow, default)]
    pub(super) function: Function<'a>,
    #[serde(borrow, default)]
    pub(super) extra_content: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
pub(super) struct Function<'a> {
    #[serde(borrow, default)]
    pub(super) name: Text<'a>,
    #[serde(borrow, default)]
    pub(super) arguments: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
struct Usage {
    #[serde(default, deserialize_with = "count")]
    prompt_tokens: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    completion_tokens: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    total_tokens: Option<u64>,
    /// DeepSeek's name for cached tokens.
    #[serde(default, deserialize_with = "count")]
    prompt_cache_hit_tokens: Option<u64>,
    #[serde(default)]
    prompt_tokens_details: Option<Details>,
    #[serde(default)]
    completion_tokens_details: Option<Details>,
}

#[derive(Default, Deserialize)]
struct Details {
    #[serde(default, deserialize_with = "count")]
    cached_tokens: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    cache_write_tokens: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    reasoning_tokens: Option<u64>,
}

impl<'a> Message<'a> {
    /// Removes the thinking from the member that the server uses.
    pub(super) fn take_thinking(&mut self) -> Option<Cow<'a, str>> {
        let content = Text(self.content.take_thinking());
        let places = [take(&mut self.reasoning_content), take(&mut self.reasoning), content];
        places.into_iter().find_map(Text::into_some)
    }

    /// Removes the refusal from the member that the server uses.
    pub(super) fn take_refusal(&mut self) -> Option<Cow<'a, str>> {
        let places = [take(&mut self.refusal), Text(self.content.take_refusal())];
        places.into_iter().find_map(Text::into_some)
    }
}

impl<'a> Call<'a> {
    /// Returns the arguments.
    pub(super) fn arguments(&self) -> Cow<'a, str> {
        unquoted(self.function.arguments)
    }
}

/// The parts of a message in owned form.
#[derive(Default)]
pub(super) struct Parts {
    pub(super) text: Option<Box<str>>,
    pub(super) thinking: Option<Box<str>>,
    pub(super) refusal: Option<Box<str>>,
    pub(super) calls: Vec<ToolCall>,
    pub(super) extensions: Option<ProviderContent>,
}

impl From<Parts> for AiMessage {
    fn from(parts: Parts) -> Self {
        // Some servers send an empty text beside tool calls or a refusal.
        let needs_text = parts.calls.is_empty() && parts.refusal.is_none();
        let text = parts.text.filter(|text| needs_text || !text.is_empty());
        let mut builder = Self::builder().tool_calls(parts.calls);
        if let Some(text) = text {
            builder = builder.text(text);
        }
        if let Some(thinking) = parts.thinking {
            builder = builder.thinking(thinking);
        }
        if let Some(refusal) = parts.refusal {
            builder = builder.refusal(refusal);
        }
        if let Some(extensions) = parts.extensions {
            builder = builder.provider_content(extensions);
        }
        builder.build()
    }
}

impl From<Message<'_>> for AiMessage {
    fn from(mut message: Message<'_>) -> Self {
        let thinking = message.take_thinking().map(Into::into);
        let refusal = message.take_refusal().map(Into::into);
        let text = message.content.text.map(Into::into);
        let (extra, calls) =
            message.tool_calls.into_iter().map(|call| (call.extra_content, call.into())).unzip();
        let extensions = MessageExtensions {
            reasoning_details: message.reasoning_details,
            extra_content: message.extra_content,
            calls: extra,
        };
        Parts { text, thinking, refusal, calls, extensions: extensions.into_content() }.into()
    }
}

impl From<Call<'_>> for ToolCall {
    fn from(call: Call<'_>) -> Self {
        let arguments = call.arguments();
        let name = call.function.name.into_owned().unwrap_or_default();
        Self::new(call.id.into_owned().unwrap_or_default(), name, arguments)
    }
}

impl From<Usage> for TokenUsage {
    fn from(usage: Usage) -> Self {
        let input = usage.prompt_tokens_details.unwrap_or_default();
        let reasoning =
            usage.completion_tokens_details.and_then(|details| details.reasoning_tokens);
        let mut tokens = Self::default()
            .with_cached_input(input.cached_tokens.or(usage.prompt_cache_hit_tokens))
            .with_cache_write_input(input.cache_write_tokens)
            .with_reasoning(reasoning)
            .with_total(usage.total_tokens);
        tokens.input = usage.prompt_tokens;
        tokens.output = usage.completion_tokens;
        tokens
    }
}

/// Returns the finish reason, if the server sent one.
pub(super) fn finish_reason(reason: Text<'_>) -> Option<FinishReason> {
    let reason = reason.into_some()?;
    Some(match &*reason {
        "stop" => FinishReason::Stop,
        "length" => FinishReason::Length,
        "tool_calls" => FinishReason::ToolExecution,
        "content_filter" => FinishReason::ContentFilter,
        _ => FinishReason::Other(reason.into()),
    })
}

/// A list of calls that may be `null`. In streams it usually has one call, which needs no
/// allocation.
#[derive(Default)]
pub(super) struct Calls<'a> {
    first: Option<Call<'a>>,
    rest: Vec<Call<'a>>,
}

impl<'a> IntoIterator for Calls<'a> {
    type Item = Call<'a>;
    type IntoIter = std::iter::Chain<std::option::IntoIter<Call<'a>>, std::vec::IntoIter<Call<'a>>>;

    fn into_iter(self) -> Self::IntoIter {
        self.first.into_iter().chain(self.rest)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Calls<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct List;

        impl<'de> Visitor<'de> for List {
            type Value = Calls<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of tool calls")
            }

            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok(Calls::default())
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let mut calls = Calls { first: list.next_element()?, rest: Vec::new() };
                while let Some(call) = list.next_element()? {
                    calls.rest.push(call);
                }
                Ok(calls)
            }
        }

        deserializer.deserialize_any(List)
    }
}

/// Reads the token usage, if the server sent it.
pub(super) fn usage<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<TokenUsage>, D::Error> {
    Ok(Option::<Usage>::deserialize(deserializer)?.map(TokenUsage::from))
}
