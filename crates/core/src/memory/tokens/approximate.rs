//! A token estimate that needs no tables.

use super::{EstimatorId, TokenCountEstimator};
use crate::error::Result;
use crate::message::{ChatMessage, Content};

/// Estimates tokens from the number of characters.
///
/// For models whose tokenizer is not available. One token of a text is
///
/// - 4 ASCII letters and blanks,
/// - 1.5 ASCII digits and punctuation marks,
/// - 2 characters of other alphabets (two bytes in UTF-8),
/// - 1 character of three bytes, such as Chinese, Japanese and Korean,
/// - half of an emoji.
///
/// The sum is rounded up. On English prose, tables, JSON and source code, the estimate is 0.9 to
/// 1.5 times the count of OpenAI's tokenizers, usually slightly too high. In addition:
///
/// | item | tokens |
/// |---|---|
/// | a list | 3 |
/// | a message | 4 |
/// | a tool call | 8 + the name + the arguments |
/// | an image, audio recording, video or PDF | 1,000 each |
/// | a custom message | its attributes as JSON |
///
/// # Examples
///
/// ```
/// use ai_services::memory::{ApproximateCounter, TokenCountEstimator};
///
/// assert_eq!(ApproximateCounter.count_text("Hello, world!"), 5);
/// assert_eq!(ApproximateCounter.count_text("你好"), 2);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct ApproximateCounter;

/// Approximately the price of an image of one megapixel at OpenAI and Anthropic.
const TOKENS_PER_MEDIUM: usize = 1_000;

impl ApproximateCounter {
    fn contents(self, contents: &[Content]) -> usize {
        contents
            .iter()
            .map(|part| part.text().map_or(TOKENS_PER_MEDIUM, |text| self.count_text(text)))
            .sum()
    }
}

impl TokenCountEstimator for ApproximateCounter {
    fn count_text(&self, text: &str) -> usize {
        text.chars().map(twelfths).sum::<usize>().div_ceil(12)
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

/// Returns the estimate for a character, in twelfths of a token.
fn twelfths(c: char) -> usize {
    match c.len_utf8() {
        1 if c.is_ascii_alphabetic() || c.is_ascii_whitespace() => 3,
        1 => 8,
        2 => 6,
        3 => 12,
        _ => 24,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{AiMessage, CustomMessage, ToolCall, ToolResult, UserMessage};

    #[test]
    fn every_kind_of_message_is_counted() {
        let count = |message: ChatMessage| ApproximateCounter.count_message(&message).unwrap();
        let call = ToolCall::new("1", "look", "text");
        let attributes = [("name".to_owned(), true.into())].into_iter().collect();
        assert_eq!(count(ChatMessage::system("text")), 4 + 1);
        assert_eq!(count(UserMessage::new("text").with_name("Anna").into()), 4 + 1 + 1);
        assert_eq!(
            count(UserMessage::from_contents([Content::image_url("http://x/y")]).into()),
            4 + TOKENS_PER_MEDIUM
        );
        assert_eq!(count(AiMessage::builder().tool_calls([call]).build().into()), 4 + 8 + 1 + 1);
        assert_eq!(count(ToolResult::new("1", "look", "text").into()), 4 + 1);
        // Eight letters and five punctuation marks in {"name":true}.
        assert_eq!(count(CustomMessage::new(attributes).into()), 4 + 6);
    }

    #[cfg(feature = "tiktoken")]
    #[test]
    fn estimate_is_close_to_the_exact_count() {
        let exact = crate::memory::TiktokenCounter::for_model("gpt-4o").unwrap();
        let texts = [
            include_str!("approximate.rs"),
            r#"{"city": "Paris", "days": 3, "metric": true, "tags": ["a", "b"]}"#,
            "The weather in Oslo will be mild tomorrow; an umbrella is not needed.",
            "Das Wetter in Oslo wird morgen mild; ein Schirm wird nicht gebraucht.",
            "敏捷的棕色狐狸跳过懒狗，然后询问明天的天气如何。",
            "2026-11-20T19:44:12Z 1.234,56",
        ];
        for text in texts {
            let (exact, estimate) = (exact.count_text(text), ApproximateCounter.count_text(text));
            let ratio = estimate as f64 / exact as f64;
            assert!((0.85..1.6).contains(&ratio), "{estimate} for {exact} of {text:.40}");
        }
    }
}
