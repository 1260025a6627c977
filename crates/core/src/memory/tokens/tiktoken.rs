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

/// Number of pieces of a text that are counted. The pieces take about 0.1 seconds.
const MAX_PIECES: usize = 32;

/// Counts tokens with OpenAI's tokenizer, exactly as OpenAI's models do.
///
/// Messages are counted by the [`OpenAiFormula`]. The tokenizer's tables (about 50 MB) are loaded
/// when the first text is counted, and are shared by the whole process. Texts of more than 8 KiB
/// are counted in pieces. This may yield a few tokens too many (less than 0.1 %), and keeps
/// counting reliable for every text. Texts of more than 256 KiB are estimated from 32 pieces at
/// equal distances, because counting must not block the thread for long: a megabyte would take up to
/// a second. Cheap to clone. All counters of a model share the counts that are cached with messages.
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

/// Counts a text in pieces, or estimates a long one. Empty text does not load the tables.
fn count(encoding: fn() -> &'static CoreBPE, text: &str) -> usize {
    let count = |piece| encoding().count_ordinary(piece);
    if text.len() <= MAX_PIECES * PIECE {
        return pieces(text).map(count).sum();
    }
    let (mut tokens, mut bytes) = (0_u128, 0_u128);
    for piece in samples(text) {
        tokens += count(piece) as u128;
        bytes += piece.len() as u128;
    }
    let estimate = tokens * text.len() as u128 / bytes.max(1);
    usize::try_from(estimate).unwrap_or(usize::MAX)
}

/// Splits a text into pieces of up to [`PIECE`] bytes, at character boundaries.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let piece = first_piece(rest).filter(|piece| !piece.is_empty())?;
        rest = rest.get(piece.len()..)?;
        Some(piece)
    })
}

/// Returns [`MAX_PIECES`] pieces of a long text at equal distances, the first and the last one included.
fn samples(text: &str) -> impl Iterator<Item = &str> {
    let last = text.len().saturating_sub(PIECE);
    (0..MAX_PIECES).filter_map(move |index| {
        let start = last / (MAX_PIECES - 1) * index;
        let start = (start..text.len()).find(|start| text.is_char_boundary(*start))?;
        first_piece(text.get(start..)?)
    })
}

fn first_piece(text: &str) -> Option<&str> {
    let end = (0..=text.len().min(PIECE)).rev().find(|end| text.is_char_boundary(*end))?;
    text.get(..end)
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

    #[test]
    fn long_text_is_estimated() {
        let counter = TiktokenCounter::for_model("gpt-4o").unwrap();
        let part = "Der schnelle Fuchs springt über den faulen Hund. 42! ".repeat(4_000);
        assert!(part.len() < MAX_PIECES * PIECE);
        let exact = counter.count_text(&part);
        let estimate = counter.count_text(&part.repeat(10)).abs_diff(10 * exact);
        assert!(estimate < exact / 10, "{estimate} of {exact}");
    }

    #[test]
    fn counted_bytes_are_limited() {
        for (part, times) in [("a", 300_000), ("ä", 1 << 20), ("🙂", 1 << 20), ("a🙂", 5 << 20)]
        {
            let text = part.repeat(times);
            let sizes: Vec<usize> = samples(&text).map(str::len).collect();
            assert_eq!(sizes.len(), MAX_PIECES, "{part}");
            assert!(sizes.iter().all(|size| (PIECE - 7..=PIECE).contains(size)), "{sizes:?}");
        }
    }

    proptest! {
        #[test]
        fn pieces_add_up_to_the_text(text in "(a{0,5000}|ä{0,5000}|🙂{0,4000}){0,3}") {
            prop_assert!(pieces(&text).all(|piece| piece.len() <= PIECE));
            prop_assert_eq!(pieces(&text).collect::<String>(), text);
        }
    }
}
