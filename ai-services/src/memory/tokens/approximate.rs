//! An estimate that needs no tables.

use super::{EstimatorId, TokenCountEstimator};
use crate::error::Result;
use crate::message::{ChatMessage, Content};

/// Estimates tokens from the number of characters.
///
/// For models whose tokenizer is not at hand. A text has one token for each 3.5 ASCII characters
/// and one for each 1.5 others, rounded up. That is meant to be too much rather than too little
/// for prose and code.
/// In addition:
///
/// | what | tokens |
/// |---|---|
/// | a list | 3 |
/// | a message | 4 |
/// | a tool call | 8 + the name + the arguments |
/// | an image, a recording, a film, a PDF | 1,000 each |
/// | a custom message | its attributes as JSON |
///
/// # Examples
///
/// ```
/// use ai_services::memory::{ApproximateCounter, TokenCountEstimator};
///
/// assert_eq!(ApproximateCounter.count_text("Hello, world!"), 4);
/// assert_eq!(ApproximateCounter.count_text("你好"), 2);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct ApproximateCounter;

/// About what OpenAI and Anthropic charge for an image of a megapixel.
const MEDIUM: usize = 1_000;

impl ApproximateCounter {
    fn contents(self, contents: &[Content]) -> usize {
        contents.iter().map(|part| part.text().map_or(MEDIUM, |text| self.count_text(text))).sum()
    }
}

impl TokenCountEstimator for ApproximateCounter {
    fn count_text(&self, text: &str) -> usize {
        let ascii = text.bytes().filter(u8::is_ascii).count();
        let others = text.chars().count() - ascii;
        // In parts of 21: 3.5 and 1.5 are 21/6 and 21/14.
        (6 * ascii + 14 * others).div_ceil(21)
    }

    fn count_message(&self, message: &ChatMessage) -> Result<usize> {
        let own = match message {
            ChatMessage::System(message) => self.count_text(message.text()),
            ChatMessage::User(message) => {
                let name = message.name().map_or(0, |name| self.count_text(name));
                name + self.contents(message.contents())
            }
            ChatMessage::Ai(message) => {
                let calls = message.tool_calls().iter();
                let calls = calls.map(|call| {
                    8 + self.count_text(call.name()) + self.count_text(call.arguments())
                });
                message.text().map_or(0, |text| self.count_text(text)) + calls.sum::<usize>()
            }
            ChatMessage::ToolResult(message) => self.contents(message.contents()),
            ChatMessage::Custom(message) => {
                let json = serde_json::to_string(message.attributes()).unwrap_or_default();
                self.count_text(&json)
            }
        };
        Ok(4 + own)
    }

    fn request_overhead(&self) -> usize {
        3
    }

    fn identity(&self) -> Option<EstimatorId> {
        Some(EstimatorId::own(1))
    }
}
