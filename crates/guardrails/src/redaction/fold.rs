//! Texts in the characters that the patterns consist of.

use crate::characters::{is_invisible, styled, tag};
use crate::steps;
use std::borrow::Cow;
use std::ops::Range;

/// A text in the characters that the patterns consist of, with its positions in the original text.
///
/// Wide and mathematical characters and decimal digits of any script are replaced by ASCII characters, blanks
/// and hyphens of any kind by `' '` and `-`. Invisible characters are left out. Every character is folded on
/// its own, so that pieces of a text can be folded one after the other.
#[derive(Debug, Default)]
pub(super) struct FoldedText {
    text: String,
    original_length: usize,
    /// Positions in the folded text, each with the distance to the original position from there on.
    distances: Vec<(usize, usize)>,
}

impl FoldedText {
    /// Folds a text. Returns `None` if this would not change the text.
    pub(super) fn of(text: &str) -> Option<Self> {
        steps::add(text.len());
        if text.is_ascii() || text.chars().all(|c| fold(c) == Fold::Same) {
            return None;
        }
        let mut folded = Self::default();
        folded.push_str(text);
        Some(folded)
    }

    /// Adds a piece of the original text.
    pub(super) fn push_str(&mut self, piece: &str) {
        steps::add(piece.len());
        if piece.is_ascii() {
            return self.keep(piece);
        }
        let mut rest = piece;
        let is_changed = |(_, c): &(usize, char)| fold(*c) != Fold::Same;
        while let Some((at, c)) = rest.char_indices().find(is_changed) {
            let (same, others) = rest.split_at(at);
            self.keep(same);
            if let Fold::Ascii(sign) = fold(c) {
                self.mark();
                self.text.push(sign);
            }
            self.original_length += c.len_utf8();
            rest = others.get(c.len_utf8()..).unwrap_or_default();
        }
        self.keep(rest);
    }

    /// Adds a part that is the same in both texts.
    fn keep(&mut self, part: &str) {
        if !part.is_empty() {
            self.mark();
            self.text.push_str(part);
            self.original_length += part.len();
        }
    }

    /// Notes the distance of the next character to its original.
    fn mark(&mut self) {
        let distance = self.original_length - self.text.len();
        let last = self.distances.last().map_or(0, |(_, distance)| *distance);
        if distance != last {
            self.distances.push((self.text.len(), distance));
        }
    }

    /// Removes the folded text before a position, and its original.
    pub(super) fn remove_until(&mut self, position: usize) {
        let original = self.original_position(position);
        let distance = original.saturating_sub(position);
        self.text.drain(..position.min(self.text.len()));
        self.original_length -= original;
        self.distances.retain_mut(|(from, its)| {
            let is_after = *from > position;
            (*from, *its) = (from.saturating_sub(position), its.saturating_sub(distance));
            is_after
        });
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the original position of a position in the folded text. Invisible characters belong to the
    /// text before them.
    pub(super) fn original_position(&self, position: usize) -> usize {
        if position >= self.text.len() {
            return self.original_length;
        }
        let known = self.distances.partition_point(|(from, _)| *from <= position);
        let last = known.checked_sub(1).and_then(|last| self.distances.get(last));
        position + last.map_or(0, |(_, distance)| *distance)
    }

    /// Returns the original range of a range of the folded text.
    pub(super) fn original_range(&self, range: &Range<usize>) -> Range<usize> {
        self.original_position(range.start)..self.original_position(range.end)
    }
}

/// Returns the folded form of a text.
pub(super) fn folded(text: &str) -> Cow<'_, str> {
    FoldedText::of(text).map_or(Cow::Borrowed(text), |folded| Cow::Owned(folded.text))
}

/// The folded form of a character.
#[derive(Clone, Copy, PartialEq)]
enum Fold {
    Same,
    Ascii(char),
    Nothing,
}

fn fold(c: char) -> Fold {
    match c {
        // ASCII, and the letters of most texts.
        '\0'..='\u{7f}'
        | '\u{c0}'..='\u{2ff}'
        | '\u{370}'..='\u{482}'
        | '\u{3400}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7a3}' => Fold::Same,
        // Line separators end a match.
        '\u{85}' | '\u{2028}' | '\u{2029}' => Fold::Same,
        '\u{2010}'..='\u{2013}' | '\u{2212}' | '\u{fe63}' => Fold::Ascii('-'),
        '\u{2024}' | '\u{fe52}' => Fold::Ascii('.'),
        '\u{fe6b}' => Fold::Ascii('@'),
        // The punctuation of Chinese texts, which is in no pattern.
        '！' | '，' | '；' | '？' => Fold::Same,
        c if is_invisible(c) || tag(c).is_some() => Fold::Nothing,
        c if c.is_whitespace() => Fold::Ascii(' '),
        c => styled(c).or_else(|| digit(c)).map_or(Fold::Same, Fold::Ascii),
    }
}

/// The zeros of scripts with digits of their own. Nine digits follow each. Source: the characters of category
/// Nd in Unicode, without those that are used rarely.
const ZEROS: [char; 26] = [
    '\u{660}', '\u{6f0}', '\u{7c0}', '\u{966}', '\u{9e6}', '\u{a66}', '\u{ae6}', '\u{b66}',
    '\u{be6}', '\u{c66}', '\u{ce6}', '\u{d66}', '\u{de6}', '\u{e50}', '\u{ed0}', '\u{f20}',
    '\u{1040}', '\u{1090}', '\u{17e0}', '\u{1810}', '\u{1946}', '\u{19d0}', '\u{1a80}', '\u{1b50}',
    '\u{1bb0}', '\u{1c40}',
];

fn digit(c: char) -> Option<char> {
    let known = ZEROS.partition_point(|zero| *zero <= c).checked_sub(1)?;
    let value = u32::from(c) - u32::from(*ZEROS.get(known)?);
    char::from_digit(value, 10)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn text_is_folded_to_ascii() {
        for (text, ascii) in [
            ("＋４９（０）３０：ａＢ＠ｃ．ｄ", "+49(0)30:aB@c.d"),
            ("𝐀𝐳𝟎𝟗Ⓐⓩ", "Az09Az"),
            ("\u{660}\u{669}\u{966}\u{96f}\u{1c40}\u{1c49}", "090909"),
            ("a\u{200b}\u{ad}b\u{301}\u{e0061}", "ab"),
            ("1\u{a0}2\u{3000}3\u{2011}4\u{2212}5", "1 2 3-4-5"),
        ] {
            assert_eq!(folded(text), ascii);
        }
    }

    #[test]
    fn ordinary_text_is_borrowed() {
        for text in
            ["plain", "für Köln, é", "почта", "架子，没有！", "한국", "10⁶ ½ ①", "🇩🇪 🅰", "—…"]
        {
            assert!(matches!(folded(text), Cow::Borrowed(_)), "{text}");
        }
    }

    #[test]
    fn zeros_are_sorted() {
        assert!(ZEROS.is_sorted());
    }

    /// Generates texts with many characters that are folded.
    fn texts() -> impl Strategy<Value = String> {
        let signs = vec!["a", "é", "中", "１", "\u{200b}", "\u{e0061}", "\u{a0}", "𝐀", "，"];
        prop_oneof![
            prop::collection::vec(prop::sample::select(signs), 0..20).prop_map(|all| all.concat()),
            any::<String>(),
        ]
    }

    proptest! {
        #[test]
        fn pieces_are_folded_like_the_whole(parts in prop::collection::vec(texts(), 0..6)) {
            let (mut pieces, mut whole) = (FoldedText::default(), FoldedText::default());
            parts.iter().for_each(|part| pieces.push_str(part));
            whole.push_str(&parts.concat());
            prop_assert_eq!(pieces.text(), whole.text());
            for position in 0..=whole.text().len() {
                prop_assert_eq!(pieces.original_position(position), whole.original_position(position));
            }
        }

        #[test]
        fn rest_of_a_text_is_folded_like_the_rest_alone(text in texts(), at in 0..20_usize) {
            let (mut rest, mut alone) = (FoldedText::default(), FoldedText::default());
            rest.push_str(&text);
            let position = rest.text().char_indices().nth(at).map_or(rest.text().len(), |(at, _)| at);
            alone.push_str(&text[rest.original_position(position)..]);
            rest.remove_until(position);
            prop_assert_eq!(rest.text(), alone.text());
            for position in 0..=alone.text().len() {
                prop_assert_eq!(rest.original_position(position), alone.original_position(position));
            }
        }

        #[test]
        fn original_range_of_a_character_contains_the_character(text in texts()) {
            let mut folded = FoldedText::default();
            folded.push_str(&text);
            for (at, c) in folded.text().char_indices() {
                let range = folded.original_range(&(at..at + c.len_utf8()));
                let original = text[range].chars().next().unwrap();
                prop_assert!(original == c || fold(original) == Fold::Ascii(c), "{original:?} {c:?}");
            }
        }

        #[test]
        fn folding_is_idempotent(text in texts()) {
            let once = folded(&text);
            prop_assert!(matches!(folded(&once), Cow::Borrowed(_)));
        }
    }
}
