//! Measures of text size.

use std::fmt;
use std::sync::Arc;

type Count = dyn Fn(&str) -> usize + Send + Sync;

/// The unit in which the size of a segment is measured.
///
/// # Examples
///
/// A token counter as a measure:
///
/// ```
/// use ai_services::document::TextMeasure;
/// use ai_services::memory::{ApproximateCounter, TokenCountEstimator};
///
/// let tokens = TextMeasure::new(|text| ApproximateCounter.count_text(text));
/// let text = "Bananas are berries.";
/// assert!(tokens.size(text) < TextMeasure::characters().size(text));
/// ```
#[derive(Clone)]
pub struct TextMeasure(pub(super) Measure);

#[derive(Clone)]
pub(super) enum Measure {
    Characters,
    Counted(Arc<Count>),
}

impl TextMeasure {
    /// Measures in characters (Unicode scalar values).
    #[must_use]
    pub fn characters() -> Self {
        Self(Measure::Characters)
    }

    /// Measures with a function that counts, for example, tokens, bytes or words. It should be fast, and a
    /// longer text should not have a smaller size.
    #[must_use]
    pub fn new(count: impl Fn(&str) -> usize + Send + Sync + 'static) -> Self {
        Self(Measure::Counted(Arc::new(count)))
    }

    /// Returns the size of a text.
    #[must_use]
    pub fn size(&self, text: &str) -> usize {
        match &self.0 {
            Measure::Characters => text.chars().count(),
            Measure::Counted(count) => count(text),
        }
    }

    /// Returns the length in bytes of the longest prefix that fits into this size. `hint` is the previous
    /// result.
    pub(super) fn fitting_prefix(&self, text: &str, max: usize, hint: usize) -> usize {
        match &self.0 {
            Measure::Characters => {
                text.char_indices().nth(max).map_or(text.len(), |(position, _)| position)
            }
            Measure::Counted(count) => {
                let fits =
                    |length: usize| text.get(..length).is_some_and(|text| count(text) <= max);
                let rounded = |length| (before(text, length), after(text, length));
                longest(text.len(), hint, rounded, fits)
            }
        }
    }

    /// Returns the length in bytes of the longest suffix that fits into this size.
    pub(super) fn fitting_suffix(&self, text: &str, max: usize, hint: usize) -> usize {
        let length = text.len();
        match &self.0 {
            Measure::Characters => match max.checked_sub(1) {
                None => 0,
                Some(last) => text
                    .char_indices()
                    .nth_back(last)
                    .map_or(length, |(position, _)| length - position),
            },
            Measure::Counted(count) => {
                let fits =
                    |size: usize| text.get(length - size..).is_some_and(|text| count(text) <= max);
                let rounded = |size: usize| {
                    let start = length - size;
                    (length - after(text, start), length - before(text, start))
                };
                longest(length, hint, rounded, fits)
            }
        }
    }
}

/// Returns the longest length that fits, provided that `fits` is monotonic. Tests only lengths near the
/// result, so that the cost does not depend on the length of the whole text. `rounded` returns a length
/// rounded down and up to a character boundary.
fn longest(
    length: usize,
    hint: usize,
    rounded: impl Fn(usize) -> (usize, usize),
    fits: impl Fn(usize) -> bool,
) -> usize {
    let mut fitting = 0;
    let mut next = hint.clamp(1, length.max(1));
    // Double until a length does not fit.
    let mut too_long = loop {
        let (at, _) = rounded(next.min(length));
        if at > fitting && !fits(at) {
            break at;
        }
        fitting = fitting.max(at);
        if next >= length {
            return fitting;
        }
        next = next.saturating_mul(2);
    };
    loop {
        let (shorter, longer) = rounded(fitting + (too_long - fitting) / 2);
        let middle = if shorter > fitting { shorter } else { longer };
        if middle <= fitting || middle >= too_long {
            return fitting;
        }
        if fits(middle) {
            fitting = middle;
        } else {
            too_long = middle;
        }
    }
}

/// Returns the nearest character boundary at or before this position.
pub(super) fn before(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at = at.saturating_sub(1);
    }
    at
}

/// Returns the nearest character boundary at or after this position.
fn after(text: &str, mut at: usize) -> usize {
    while at < text.len() && !text.is_char_boundary(at) {
        at += 1;
    }
    at
}

impl fmt::Debug for TextMeasure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match &self.0 {
            Measure::Characters => "TextMeasure(characters)",
            Measure::Counted(_) => "TextMeasure(counted)",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Both implementations of the search agree.
        #[test]
        fn fitting_text_is_as_long_as_possible(
            text in "[aé😀 ]{0,30}",
            max in 0_usize..30,
            hint in 0_usize..60,
        ) {
            let counted = TextMeasure::new(|text| text.chars().count());
            let plain = TextMeasure::characters();
            prop_assert_eq!(
                counted.fitting_prefix(&text, max, hint),
                plain.fitting_prefix(&text, max, hint)
            );
            prop_assert_eq!(
                counted.fitting_suffix(&text, max, hint),
                plain.fitting_suffix(&text, max, hint)
            );
            let prefix = plain.fitting_prefix(&text, max, hint);
            prop_assert_eq!(text[..prefix].chars().count(), text.chars().count().min(max));
            let suffix = plain.fitting_suffix(&text, max, hint);
            prop_assert_eq!(text[text.len() - suffix..].chars().count(), text.chars().count().min(max));
        }
    }
}
