//! Parts of both whole and streamed answers.

use crate::protocol::in_place::object;
use crate::protocol::tolerant::Text;
use ai_services_core::model::{FinishReason, TokenUsage};

object! {
    /// Token counts. In a stream they arrive repeatedly, each time in total.
    #[derive(Clone, Copy, Debug)]
    pub(super) struct Usage {
        input_tokens: Option<u64> = "input_tokens",
        output_tokens: Option<u64> = "output_tokens",
        cache_read_input_tokens: Option<u64> = "cache_read_input_tokens",
        cache_creation_input_tokens: Option<u64> = "cache_creation_input_tokens",
        output_tokens_details: Option<Details> = "output_tokens_details",
    }

    #[derive(Clone, Copy, Debug)]
    struct Details {
        thinking_tokens: Option<u64> = "thinking_tokens",
    }

    pub(super) struct StopDetails<'a> {
        explanation: Text<'a> = "explanation",
        category: Text<'a> = "category",
    }
}

/// The stop reason with its details.
pub(super) struct Stop<'a> {
    pub(super) reason: Text<'a>,
    pub(super) details: Option<StopDetails<'a>>,
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

impl Stop<'_> {
    /// Returns the finish reason, if there is one, and the text of a refusal.
    pub(super) fn read(self) -> (Option<FinishReason>, Option<Box<str>>) {
        let Some(reason) = self.reason.into_some() else { return (None, None) };
        let reason = match &*reason {
            "end_turn" | "stop_sequence" => FinishReason::Stop,
            "max_tokens" | "model_context_window_exceeded" => FinishReason::Length,
            "tool_use" => FinishReason::ToolExecution,
            "refusal" => FinishReason::ContentFilter,
            _ => FinishReason::Other(reason.into()),
        };
        let details = self.details.filter(|_| reason == FinishReason::ContentFilter);
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
    use crate::protocol::in_place::read_str;

    #[test]
    fn cached_tokens_are_part_of_the_input() {
        let json = r#"{"input_tokens":5,"output_tokens":3,"cache_read_input_tokens":7.0,
            "cache_creation_input_tokens":11,"output_tokens_details":{"thinking_tokens":2}}"#;
        let mut usage = Usage::default();
        read_str(json, &mut usage).unwrap();
        let usage = TokenUsage::from(usage);
        let expected = TokenUsage::new(23, 3).with_cached_input(Some(7));
        assert_eq!(usage, expected.with_cache_write_input(Some(11)).with_reasoning(Some(2)));
        assert!(TokenUsage::from(Usage::default()).is_empty());
    }

    #[test]
    fn stop_reasons_are_translated() {
        let read = |reason: Option<&'static str>, details: &'static str| {
            let mut stop = Stop { reason: Text(reason.map(Into::into)), details: None };
            read_str(details, &mut stop.details).unwrap();
            stop.read()
        };
        let reason = |reason: &'static str| read(Some(reason), "null").0.unwrap();
        assert_eq!(reason("stop_sequence"), FinishReason::Stop);
        assert_eq!(reason("model_context_window_exceeded"), FinishReason::Length);
        assert_eq!(reason("pause_turn"), FinishReason::Other("pause_turn".into()));
        assert_eq!(read(None, "null"), (None, None));
        let details = r#"{"type":"refusal","category":"bio","explanation":null}"#;
        let refused = read(Some("refusal"), details);
        assert_eq!(refused, (Some(FinishReason::ContentFilter), Some("bio".into())));
    }
}
