//! Exact counts for OpenAI's models.

use super::openai::Model;
use super::{EstimatorId, OpenAiFormula, TokenCountEstimator};
use crate::error::{Error, Result};
use crate::message::ChatMessage;
use tiktoken_rs::tokenizer::{Tokenizer, get_tokenizer};
use tiktoken_rs::{
    CoreBPE, cl100k_base_singleton, o200k_base_singleton, o200k_harmony_singleton,
    p50k_base_singleton, p50k_edit_singleton, r50k_base_singleton,
};

/// Maximum size of a piece in bytes. On text without spaces, the tokenizer's time grows faster than
/// the length, and it fails on a megabyte.
const PIECE: usize = 8 * 1024;

/// Counts tokens with OpenAI's tokenizer, exactly as OpenAI's models do.
///
/// Messages are counted by the [`OpenAiFormula`]. The tokenizer's tables (about 50 MB) are loaded
/// when the first text is counted, and are shared by the whole process. Texts of more than 8 KiB
/// are counted in pieces. This may yield a few tokens too many (less than 0.1 %), and keeps
/// counting fast and reliable for every text. Cheap to clone. All counters of a model share the
/// counts that are cached with messages.
///
/// # Examples
///
/// ```
/// use ai_services::memory::{TiktokenCounter, TokenCountEstimator};
/// use ai_services::message::ChatMessage;
///
/// let counter = TiktokenCounter::for_model("gpt-4o-mini")?;
/// assert_eq!(counter.count_text("Hello, world!"), 4);
/// assert_eq!(counter.count_message(&ChatMessage::user("Hello, world!"))?, 8);
/// # Ok::<(), ai_services::Error>(())
/// ```
#[derive(Clone, Debug)]
#[doc(alias = "OpenAiTokenCountEstimator")]
pub struct TiktokenCounter(OpenAiFormula<fn(&str) -> usize>);

impl TiktokenCounter {
    /// Creates a counter for a model of OpenAI.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Configuration`](crate::ErrorKind::Configuration) for a model with an
    /// unknown tokenizer.
    pub fn for_model(model: &str) -> Result<Self> {
        let (number, count): (u8, fn(&str) -> usize) = match get_tokenizer(model) {
            Some(Tokenizer::O200kBase) => (0, |text| count(o200k_base_singleton, text)),
            Some(Tokenizer::O200kHarmony) => (1, |text| count(o200k_harmony_singleton, text)),
            Some(Tokenizer::Cl100kBase) => (2, |text| count(cl100k_base_singleton, text)),
            Some(Tokenizer::P50kBase) => (3, |text| count(p50k_base_singleton, text)),
            Some(Tokenizer::P50kEdit) => (4, |text| count(p50k_edit_singleton, text)),
            Some(Tokenizer::R50kBase | Tokenizer::Gpt2) => {
                (5, |text| count(r50k_base_singleton, text))
            }
            None => {
                return Err(Error::configuration(format!(
                    "the tokenizer of the model `{model}` is unknown; name an OpenAI model with the same \
                     tokenizer, for example `gpt-4o`, or use `ApproximateCounter`"
                )));
            }
        };
        let model = Model::named(model);
        // Models with the same tokenizer have the same counts, except for the overhead of `o4`.
        let id = EstimatorId::own(2 + 2 * number + u8::from(model == Model::O4));
        Ok(Self(OpenAiFormula::with_id(model, count, id)))
    }
}

impl TokenCountEstimator for TiktokenCounter {
    fn count_text(&self, text: &str) -> usize {
        self.0.count_text(text)
    }

    fn count_message(&self, message: &ChatMessage) -> Result<usize> {
        self.0.count_message(message)
    }

    fn request_overhead(&self) -> usize {
        self.0.request_overhead()
    }

    fn identity(&self) -> Option<EstimatorId> {
        self.0.identity()
    }
}

/// Counts a text in pieces. Empty text does not load the tables.
fn count(encoding: fn() -> &'static CoreBPE, text: &str) -> usize {
    pieces(text).map(|piece| encoding().count_ordinary(piece)).sum()
}

/// Splits a text into pieces of up to [`PIECE`] bytes, at character boundaries.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = (0..=rest.len().min(PIECE)).rev().find(|end| rest.is_char_boundary(*end))?;
        let (piece, after) = rest.split_at_checked(end).filter(|(piece, _)| !piece.is_empty())?;
        rest = after;
        Some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;
    use proptest::prelude::*;

    #[test]
    fn unknown_model_is_rejected() {
        let error = TiktokenCounter::for_model("llama-3").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Configuration);
        assert!(error.to_string().contains("`llama-3`"));
    }

    #[test]
    fn hostile_text_is_counted() {
        let counter = TiktokenCounter::for_model("gpt-4o").unwrap();
        for text in [" ", "\n", "a", "\t", "!"] {
            let count = counter.count_text(&text.repeat(1 << 20));
            assert!(count > 1_000, "{count} tokens of {text:?}");
        }
    }

    #[test]
    fn splitting_adds_few_tokens() {
        let counter = TiktokenCounter::for_model("gpt-4o").unwrap();
        let text = "The quick brown fox jumps over the lazy dog. ".repeat(2_000);
        let whole = o200k_base_singleton().count_ordinary(&text);
        let pieces = counter.count_text(&text);
        assert!((whole..=whole + whole / 1_000).contains(&pieces), "{whole} {pieces}");
    }

    proptest! {
        #[test]
        fn pieces_add_up_to_the_text(text in "(a{0,5000}|ä{0,5000}|🙂{0,4000}){0,3}") {
            prop_assert!(pieces(&text).all(|piece| piece.len() <= PIECE));
            prop_assert_eq!(pieces(&text).collect::<String>(), text);
        }
    }
}
