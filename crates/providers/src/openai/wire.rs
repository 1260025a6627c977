//! Parts of both whole and streamed answers.

use super::extensions::MessageExtensions;
use crate::protocol::in_place::{InPlace, List, object};
use crate::protocol::tolerant::{Content, Index, Text, unquoted};
use ai_services_core::message::{AiMessage, ProviderContent, ToolCall};
use ai_services_core::model::{FinishReason, TokenUsage};
use serde::Deserializer;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::mem::take;

object! {
    /// The message of an answer, or the delta of a stream.
    pub(super) struct Message<'a> {
        pub(super) content: Content<'a> = "content",
        pub(super) refusal: Text<'a> = "refusal",
        /// Thinking at vLLM, llama.cpp, DeepSeek and others.
        pub(super) reasoning_content: Text<'a> = "reasoning_content",
        /// Thinking at OpenRouter, Ollama and Groq.
        pub(super) reasoning: Text<'a> = "reasoning",
        pub(super) tool_calls: List<Call<'a>> = "tool_calls",
        /// See [`MessageExtensions`].
        pub(super) reasoning_details: Option<&'a RawValue> = "reasoning_details",
        pub(super) extra_content: Option<&'a RawValue> = "extra_content",
    }

    pub(super) struct Call<'a> {
        /// Number of the call in the answer, in streams.
        pub(super) index: Index = "index",
        pub(super) id: Text<'a> = "id",
        pub(super) function: Function<'a> = "function",
        pub(super) extra_content: Option<&'a RawValue> = "extra_content",
    }

    pub(super) struct Function<'a> {
        pub(super) name: Text<'a> = "name",
        pub(super) arguments: Option<&'a RawValue> = "arguments",
    }

    /// The token usage, as the server counts it.
    pub(super) struct Usage {
        prompt_tokens: Option<u64> = "prompt_tokens",
        completion_tokens: Option<u64> = "completion_tokens",
        total_tokens: Option<u64> = "total_tokens",
        /// DeepSeek's name for cached tokens.
        prompt_cache_hit_tokens: Option<u64> = "prompt_cache_hit_tokens",
        prompt_tokens_details: Option<Details> = "prompt_tokens_details",
        completion_tokens_details: Option<Details> = "completion_tokens_details",
    }

    struct Details {
        cached_tokens: Option<u64> = "cached_tokens",
        cache_write_tokens: Option<u64> = "cache_write_tokens",
        reasoning_tokens: Option<u64> = "reasoning_tokens",
    }
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

impl From<&mut Message<'_>> for AiMessage {
    fn from(message: &mut Message<'_>) -> Self {
        let thinking = message.take_thinking().map(Into::into);
        let refusal = message.take_refusal().map(Into::into);
        let text = message.content.text.take().map(Into::into);
        let calls = message.tool_calls.iter_mut();
        let (extra, calls) = calls.map(|call| (call.extra_content, call.into())).unzip();
        let extensions = MessageExtensions {
            reasoning_details: message.reasoning_details,
            extra_content: message.extra_content,
            calls: extra,
        };
        Parts { text, thinking, refusal, calls, extensions: extensions.into_content() }.into()
    }
}

impl From<&mut Call<'_>> for ToolCall {
    fn from(call: &mut Call<'_>) -> Self {
        let [id, name] = [&mut call.id, &mut call.function.name];
        let [id, name] = [id, name].map(|text| take(text).into_owned().unwrap_or_default());
        Self::new(id, name, call.arguments())
    }
}

impl From<&Usage> for TokenUsage {
    fn from(usage: &Usage) -> Self {
        let (input, output) = (&usage.prompt_tokens_details, &usage.completion_tokens_details);
        let input = input.as_ref();
        let cached = input.and_then(|details| details.cached_tokens);
        let reasoning = output.as_ref().and_then(|details| details.reasoning_tokens);
        let mut tokens = Self::default()
            .with_cached_input(cached.or(usage.prompt_cache_hit_tokens))
            .with_cache_write_input(input.and_then(|details| details.cache_write_tokens))
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

/// Reads the token usage, if the server sent it.
pub(super) fn usage<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<TokenUsage>, D::Error> {
    let mut usage = None::<Usage>;
    usage.read(deserializer)?;
    Ok(usage.as_ref().map(TokenUsage::from))
}
