//! Reading answers, as tolerantly as the variety of servers demands.

use super::content::Content;
use crate::error::{Error, ErrorKind, Result};
use crate::http::{Answer, Endpoint};
use crate::message::{AiMessage, ToolCall};
use crate::model::{ChatResponse, FinishReason, TokenUsage};
use serde::de::{IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Number;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

#[derive(Deserialize)]
struct Completion<'a> {
    #[serde(borrow, default)]
    id: Content<'a>,
    #[serde(borrow, default)]
    model: Content<'a>,
    #[serde(borrow, default, deserialize_with = "first")]
    choices: Option<Choice<'a>>,
    #[serde(default)]
    usage: Option<Usage>,
    /// Gateways report errors with status 200.
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow, default)]
    message: Option<Message<'a>>,
    #[serde(borrow, default)]
    finish_reason: Content<'a>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow, default)]
    content: Content<'a>,
    #[serde(borrow, default)]
    refusal: Content<'a>,
    /// What the model thought, at vLLM, llama.cpp, DeepSeek and others.
    #[serde(borrow, default)]
    reasoning_content: Content<'a>,
    /// The same at OpenRouter, Ollama and Groq.
    #[serde(borrow, default)]
    reasoning: Content<'a>,
    #[serde(borrow, default)]
    tool_calls: Option<Vec<Call<'a>>>,
}

#[derive(Deserialize)]
struct Call<'a> {
    #[serde(borrow, default)]
    id: Content<'a>,
    #[serde(borrow, default)]
    function: Function<'a>,
}

#[derive(Default, Deserialize)]
struct Function<'a> {
    #[serde(borrow, default)]
    name: Content<'a>,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
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
    reasoning_tokens: Option<u64>,
}

/// Turns an answer into a response.
///
/// # Errors
///
/// The error that the answer reports, and [`ErrorKind::InvalidResponse`] for everything that is not
/// a completion.
pub(super) fn read(answer: &Answer, endpoint: &Endpoint) -> Result<ChatResponse> {
    let completion: Completion<'_> =
        serde_json::from_slice(&answer.body).map_err(|error| answer.unreadable(error))?;
    if completion.error.is_some() {
        return Err(endpoint.error_in(answer));
    }
    let usage = completion.usage.map(TokenUsage::from).unwrap_or_default();
    let invalid = |message| {
        let error = Error::new(ErrorKind::InvalidResponse, message);
        answer.annotate(error.with_usage(usage))
    };
    let first = completion.choices.ok_or_else(|| invalid("the answer has no choices"))?;
    let message = first.message.ok_or_else(|| invalid("the answer has no message"))?;
    Ok(ChatResponse {
        message: message.into(),
        usage,
        finish_reason: first
            .finish_reason
            .text
            .filter(|reason| !reason.is_empty())
            .map(finish_reason),
        model: completion.model.into_text(),
        id: completion.id.into_text(),
        attempts: Some(answer.attempts),
    })
}

impl From<Message<'_>> for AiMessage {
    fn from(message: Message<'_>) -> Self {
        let calls = message.tool_calls.unwrap_or_default();
        let mut content = message.content;
        let refusal = Content { text: content.refusal.take(), ..Content::default() };
        let thoughts = Content { text: content.thinking.take(), ..Content::default() };
        // Some servers write an empty text beside tool calls.
        let text = if calls.is_empty() { content.into_text() } else { content.into_some_text() };
        let refusal = message.refusal.into_some_text().or_else(|| refusal.into_some_text());
        let thinking = message.reasoning_content.into_some_text();
        let thinking = thinking.or_else(|| message.reasoning.into_some_text());
        let thinking = thinking.or_else(|| thoughts.into_some_text());
        let mut builder = Self::builder().tool_calls(calls.into_iter().map(ToolCall::from));
        if let Some(text) = text {
            builder = builder.text(text);
        }
        if let Some(thinking) = thinking {
            builder = builder.thinking(thinking);
        }
        if let Some(refusal) = refusal {
            builder = builder.refusal(refusal);
        }
        builder.build()
    }
}

impl From<Call<'_>> for ToolCall {
    fn from(call: Call<'_>) -> Self {
        let arguments = call.function.arguments.map_or("", RawValue::get);
        // A text that contains JSON, by the protocol; at some servers the JSON itself.
        let unquoted = match arguments.starts_with('"') {
            true => serde_json::from_str::<Box<str>>(arguments).ok(),
            false => None,
        };
        Self::new(
            call.id.into_text().unwrap_or_default(),
            call.function.name.into_text().unwrap_or_default(),
            unquoted.unwrap_or_else(|| arguments.into()),
        )
    }
}

impl From<Usage> for TokenUsage {
    fn from(usage: Usage) -> Self {
        let cached = usage.prompt_tokens_details.and_then(|details| details.cached_tokens);
        let reasoning =
            usage.completion_tokens_details.and_then(|details| details.reasoning_tokens);
        let mut tokens = Self::default()
            .with_cached_input(cached.or(usage.prompt_cache_hit_tokens))
            .with_reasoning(reasoning)
            .with_total(usage.total_tokens);
        tokens.input = usage.prompt_tokens;
        tokens.output = usage.completion_tokens;
        tokens
    }
}

fn finish_reason(reason: Cow<'_, str>) -> FinishReason {
    match &*reason {
        "stop" => FinishReason::Stop,
        "length" => FinishReason::Length,
        "tool_calls" => FinishReason::ToolExecution,
        "content_filter" => FinishReason::ContentFilter,
        _ => FinishReason::Other(reason.into()),
    }
}

/// The first element of a list that may be `null`. The others are answers that nobody asked for.
fn first<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    struct First<T>(PhantomData<T>);

    impl<'de, T: Deserialize<'de>> Visitor<'de> for First<T> {
        type Value = Option<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list")
        }

        fn visit_unit<E>(self) -> Result<Option<T>, E> {
            Ok(None)
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Option<T>, A::Error> {
            let first = list.next_element()?;
            while list.next_element::<IgnoredAny>()?.is_some() {}
            Ok(first)
        }
    }

    deserializer.deserialize_any(First(PhantomData))
}

/// A count, also when it is written as `12.0`; nothing if it is `null` or negative.
fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let number = Option::<Number>::deserialize(deserializer)?;
    Ok(number.and_then(|number| {
        let whole = number.as_f64().filter(|count| *count >= 0.0).map(|count| count as u64);
        number.as_u64().or(whole)
    }))
}
