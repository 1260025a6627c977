//! Inverted index from words to texts.

use std::hash::{DefaultHasher, Hash, Hasher};

/// Maximum number of distinct words of a query that are used.
pub(super) const MAX_SEARCHED: usize = 256;

/// An inverted index of some texts: the texts that have a word, and how often they have it.
///
/// Words are stored as 64-bit hashes: a collision is less likely than a memory error, and each word takes 16
/// bytes.
#[derive(Debug)]
pub(super) struct WordIndex {
    /// Sorted by hash.
    terms: Vec<Term>,
    postings: Vec<Posting>,
    /// Number of words of each text.
    lengths: Vec<u32>,
}

#[derive(Debug)]
struct Term {
    hash: u64,
    /// End of its postings; they start at the end of the previous term.
    end: usize,
}

/// One text that has a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Posting {
    /// The number of the text.
    pub(super) row: u32,
    /// Number of occurrences.
    pub(super) times: u32,
}

impl WordIndex {
    pub(super) fn of<'a>(texts: impl Iterator<Item = &'a str>) -> Self {
        let mut found: Vec<(u64, u32)> = Vec::new();
        let mut lengths = Vec::new();
        for (row, text) in (0_u32..).zip(texts) {
            let before = found.len();
            each_word(text, |word| found.push((hash(word), row)));
            lengths.push((found.len() - before) as u32);
        }
        found.sort_unstable();
        let (mut terms, mut postings) = (Vec::<Term>::new(), Vec::new());
        for same in found.chunk_by(PartialEq::eq) {
            let Some((hash, row)) = same.first().copied() else { continue };
            postings.push(Posting { row, times: same.len() as u32 });
            let end = postings.len();
            match terms.last_mut() {
                Some(last) if last.hash == hash => last.end = end,
                _ => terms.push(Term { hash, end }),
            }
        }
        terms.shrink_to_fit();
        postings.shrink_to_fit();
        Self { terms, postings, lengths }
    }

    /// Returns the texts that have a word, in order.
    pub(super) fn postings(&self, hash: u64) -> &[Posting] {
        let Ok(at) = self.terms.binary_search_by_key(&hash, |term| term.hash) else { return &[] };
        let before = at.checked_sub(1).and_then(|before| self.terms.get(before));
        let (start, end) = (before.map_or(0, |term| term.end), self.terms.get(at).map(|t| t.end));
        self.postings.get(start..end.unwrap_or(start)).unwrap_or_default()
    }

    /// Returns the number of words of a text.
    pub(super) fn length(&self, row: u32) -> u32 {
        self.lengths.get(row as usize).copied().unwrap_or_default()
    }

    /// Returns the number of words of all texts.
    pub(super) fn total(&self) -> u64 {
        self.lengths.iter().map(|length| u64::from(*length)).sum()
    }
}

/// Returns the hashes of the first distinct words of a text.
pub(super) fn hashes(text: &str, max: usize) -> Vec<u64> {
    let mut hashes = Vec::new();
    each_word(text, |word| {
        if hashes.len() < max {
            let hash = hash(word);
            if !hashes.contains(&hash) {
                hashes.push(hash);
            }
        }
    });
    hashes
}

/// Hashes a word without a random key, because all blocks have to agree.
fn hash(word: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    word.hash(&mut hasher);
    hasher.finish()
}

/// Calls `visit` with every word of a text in lower case.
fn each_word(text: &str, mut visit: impl FnMut(&str)) {
    let mut word = String::new();
    for c in text.chars() {
        if c.is_ascii_alphanumeric() {
            word.push(c.to_ascii_lowercase());
            continue;
        }
        let is_alone = is_written_without_spaces(c);
        if (c.is_alphanumeric() && !is_alone) || (is_accent(c) && !word.is_empty()) {
            word.extend(c.to_lowercase());
            continue;
        }
        if !word.is_empty() {
            visit(&word);
            word.clear();
        }
        if is_alone {
            visit(c.encode_utf8(&mut [0; 4]));
        }
    }
    if !word.is_empty() {
        visit(&word);
    }
}

/// Returns `true` for a combining mark on the preceding letter.
fn is_accent(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}')
}

/// Returns `true` for Chinese characters and the Japanese syllabaries.
fn is_written_without_spaces(c: char) -> bool {
    matches!(
        c,
        '\u{3041}'..='\u{3096}'
            | '\u{30a1}'..='\u{30fa}'
            | '\u{3400}'..='\u{4dbf}'
            | '\u{4e00}'..='\u{9fff}'
            | '\u{f900}'..='\u{faff}'
            | '\u{20000}'..='\u{3ffff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words(text: &str) -> Vec<String> {
        let mut words = Vec::new();
        each_word(text, |word| words.push(word.to_owned()));
        words
    }

    #[test]
    fn words_are_runs_of_letters_and_digits() {
        assert_eq!(
            words("It's 2.5 km, AND-so \"on\"…"),
            ["it", "s", "2", "5", "km", "and", "so", "on"]
        );
        assert_eq!(words("Größe ΕΛΛΆΣ हिन्दी İ"), ["größe", "ελλάσ", "हिन", "दी", "i\u{307}"]);
        assert_eq!(words("日本 カナ3x"), ["日", "本", "カ", "ナ", "3x"]);
        assert_eq!(words("a\u{301}b 😀 \0 *%_"), ["a\u{301}b"]);
        assert!(words("").is_empty());
    }

    #[test]
    fn query_words_are_limited() {
        let text: Vec<_> = (0..1_000).map(|number| (number % 300).to_string()).collect();
        let found = hashes(&text.join(" "), MAX_SEARCHED);
        assert_eq!(found.len(), MAX_SEARCHED);
        assert_eq!(hashes("b a B a", 10), [hash("b"), hash("a")]);
    }

    proptest! {
        #[test]
        fn index_counts_every_word(texts in prop::collection::vec("[ab ]{0,8}|[c-e日]{0,3}", 0..20)) {
            let index = WordIndex::of(texts.iter().map(String::as_str));
            let mut total = 0;
            for (row, text) in (0_u32..).zip(&texts) {
                let words = words(text);
                total += words.len() as u64;
                prop_assert_eq!(index.length(row) as usize, words.len());
                for word in &words {
                    let times = words.iter().filter(|other| *other == word).count() as u32;
                    let posting = Posting { row, times };
                    prop_assert!(index.postings(hash(word)).contains(&posting));
                }
            }
            prop_assert_eq!(index.total(), total);
            let counted: u64 = index.postings.iter().map(|posting| u64::from(posting.times)).sum();
            prop_assert_eq!(counted, total);
            prop_assert!(index.postings(hash("none")).is_empty());
        }
    }
}
