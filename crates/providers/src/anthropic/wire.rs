//! Parts of both whole and streamed answers.

use crate::protocol::tolerant::{Text, count};
use ai_services_core::model::{FinishReason, TokenUsage};
use serde::Deserialize;

/// Token counts. In a stream they arrive repeatedly, each time in total.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub(super) struct Usage {
    #[serde(default, deserialize_with = "count")]
    input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    output_tokens: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    cache_read_input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    cache_creation_input_tokens: Option<u64>,
    #[serde(default)]
    output_tokens_details: Option<Details>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
struct Details {
    #[serde(default, deserialize_with = "count")]
    thinking_tokens: Option<u64>,
}

impl Usage {
    /// Merges later counts. Some servers send 0 for counts that they report in other events.
    pub(super) fn update(&mut self, later: Self) {
        self.input_tokens = self.input_tokens.max(later.input_tokens);
        self.output_tokens = self.output_tokens.max(later.output_tokens);
        self.cache_read_input_tokens =
            self.cache_read_input_tokens.max(later.cache_read_input_tokens);
        self.cache_creation_input_tokens =
            self.cache_creation_input_tokens.max(later.cache_creation_input_tokens);
        self.output_tokens_details = later.output_tokens_details.or(self.output_tokens_details);
    }
}

impl From<Usage> for TokenUsage {
    fn from(usage: Usage) -> Self {
        let (read, written) = (usage.cache_read_input_tokens, usage.cache_creation_input_tokens);
        let thinking = usage.output_tokens_details.and_then(|details| details.thinking_tokens);
        let mut tokens = Self::default()
            .with_cached_input(read)
            .with_cache_write_input(written)
            .with_reasoning(thinking);
        // The API counts cached tokens separately.
        let cached = read.unwrap_or(0).saturating_add(written.unwrap_or(0));
        tokens.input = usage.input_tokens.map(|input| input.saturating_add(cached));
        tokens.output = usage.output_tokens;
        tokens
    }
}

/// The stop reason with its details.
#[derive(Deserialize)]
pub(super) struct Stop<'a> {
    #[serde(borrow, default)]
    stop_reason: Text<'a>,
    #[serde(borrow, default)]
    stop_details: Option<StopDetails<'a>>,
}

#[derive(Deserialize)]
struct StopDetails<'a> {
    #[serde(borrow, default)]
    explanation: Text<'a>,
    #[serde(borrow, default)]
    category: Text<'a>,
}

impl Stop<'_> {
    /// Returns the finish reason, if there is one, and the text of a refusal.
    pub(super) fn read(self) -> (Option<FinishReason>, Option<Box<str>>) {
        let Some(reason) = self.stop_reason.into_some() else { return (None, None) };
        let reason = match &*reason {
            "end_turn" | "stop_sequence" => FinishReason::Stop,
            "max_tokens" | "model_context_window_exceeded" => FinishReason::Length,
            "tool_use" => FinishReason::ToolExecution,
            "refusal" => FinishReason::ContentFilter,
            _ => FinishReason::Other(reason.into()),
        };
        let details = self.stop_details.filter(|_| reason == FinishReason::ContentFilter);
        let refusal = details.and_then(|details| {
            let [explanation, category] = [details.explanation, details.category];
            explanation.into_some().or(category.into_some())
        });
        (Some(reason), refusal.map(Into::into))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cached_tokens_are_part_of_the_input() {
        let json = r#"{"input_tokens":5,"output_tokens":3,"cache_read_input_tokens":7.0,
            "cache_creation_input_tokens":11,"output_tokens_details":{"thinking_tokens":2}}"#;
        let usage: TokenUsage = serde_json::from_str::<Usage>(json).unwrap().into();
        let expected = TokenUsage::new(23, 3).with_cached_input(Some(7));
        assert_eq!(usage, expected.with_cache_write_input(Some(11)).with_reasoning(Some(2)));
        assert!(TokenUsage::from(Usage::default()).is_empty());
    }

    #[test]
    fn stop_reasons_are_translated() {
        let read = |json: &str| serde_json::from_str::<Stop<'_>>(json).unwrap().read();
        let reason = |reason: &str| read(&format!(r#"{{"stop_reason":"{reason}"}}"#)).0.unwrap();
        assert_eq!(reason("stop_sequence"), FinishReason::Stop);
        assert_eq!(reason("model_context_window_exceeded"), FinishReason::Length);
        assert_eq!(reason("pause_turn"), FinishReason::Other("pause_turn".into()));
        assert_eq!(read(r#"{"stop_reason":null,"stop_details":null}"#), (None, None));
        let refusal = r#"{"stop_reason":"refusal","stop_details":
            {"type":"refusal","category":"bio","explanation":null}}"#;
        assert_eq!(read(refusal), (Some(FinishReason::ContentFilter), Some("bio".into())));
    }
}
