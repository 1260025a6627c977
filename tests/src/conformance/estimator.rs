//! The estimators of the cases.

use ai_services::Result;
use ai_services::memory::{OpenAiFormula, TokenCountEstimator};
use ai_services::message::{ChatMessage, Content};
use serde::Deserialize;
use std::sync::Arc;

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub(super) enum Description {
    Words { counter: Counter, per_message: usize, per_list: usize },
    OpenAi { model: String, counter: Counter },
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Counter {
    Words,
    Chars,
    Chars4,
}

impl Counter {
    fn count(self, text: &str) -> usize {
        match self {
            Self::Words => {
                let words = text.split([' ', '\t', '\n', '\u{b}', '\u{c}', '\r']);
                words.filter(|word| !word.is_empty()).count()
            }
            Self::Chars => text.chars().count(),
            Self::Chars4 => text.chars().count().div_ceil(4),
        }
    }
}

impl Description {
    pub(super) fn estimator(self) -> Arc<dyn TokenCountEstimator> {
        match self {
            Self::Words { counter, per_message, per_list } => {
                Arc::new(Plain { counter, per_message, per_list })
            }
            Self::OpenAi { model, counter } => {
                Arc::new(OpenAiFormula::new(&model, move |text: &str| counter.count(text)))
            }
        }
    }
}

/// A constant for each message and all its text.
struct Plain {
    counter: Counter,
    per_message: usize,
    per_list: usize,
}

impl Plain {
    fn contents(&self, contents: &[Content]) -> usize {
        contents.iter().filter_map(Content::text).map(|text| self.count_text(text)).sum()
    }
}

impl TokenCountEstimator for Plain {
    fn count_text(&self, text: &str) -> usize {
        self.counter.count(text)
    }

    fn count_message(&self, message: &ChatMessage) -> Result<usize> {
        let count = |text: Option<&str>| text.map_or(0, |text| self.count_text(text));
        let own = match message {
            ChatMessage::User(message) => self.contents(message.contents()) + count(message.name()),
            ChatMessage::ToolResult(message) => self.contents(message.contents()),
            ChatMessage::Ai(message) => {
                let calls = message.tool_calls().iter();
                let calls =
                    calls.map(|call| count(Some(call.name())) + count(Some(call.arguments())));
                count(message.text()) + calls.sum::<usize>()
            }
            other => count(other.text()),
        };
        Ok(self.per_message + own)
    }

    fn request_overhead(&self) -> usize {
        self.per_list
    }
}
