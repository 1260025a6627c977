//! What embedding stores check before a database is asked, and how they read a search by words.

use crate::embedding::{EmbeddingEntry, check_dimensions, normalize};
use crate::error::{Error, ErrorKind, Result};
use std::collections::BTreeSet;

/// The longest text of an entry, in bytes.
const MAX_TEXT_BYTES: usize = 4 * 1024 * 1024;

/// How much metadata an entry has at most: keys and texts, in bytes.
const MAX_METADATA_BYTES: usize = 256 * 1024;

/// The longest vector: pgvector has no longer ones.
const MAX_DIMENSIONS: usize = 16_000;

/// How many different words of a search are looked for.
const MAX_WORDS: usize = 256;

/// Entries that are valid: each id once, in the order of the ids, with vectors of length 1.
#[derive(Clone, Debug, Default)]
pub struct Entries {
    pub entries: Vec<EmbeddingEntry>,
    /// The dimensions of all of them; `None` without any.
    pub dimensions: Option<usize>,
}

impl Entries {
    /// Refuses what a store does not take. Of entries with one id the last one counts.
    pub fn new(mut entries: Vec<EmbeddingEntry>, fixed: Option<usize>) -> Result<Self> {
        let mut dimensions = fixed;
        for entry in &mut entries {
            entry.check()?;
            let own = entry.vector.len();
            let known = *dimensions.get_or_insert(own);
            check_limits(entry).and_then(|()| check_dimensions(own, known)).map_err(|error| {
                Error::new(error.kind(), format!("entry `{}`: {error}", entry.id))
            })?;
            normalize(&mut entry.vector);
        }
        entries.reverse();
        entries.sort_by(|one, other| one.id.cmp(&other.id));
        entries.dedup_by(|later, earlier| later.id == earlier.id);
        Ok(Self { dimensions: dimensions.filter(|_| !entries.is_empty()), entries })
    }
}

/// The vector of length 1 in the same direction as one that was checked.
pub fn normalized(vector: &[f32]) -> Vec<f32> {
    let mut vector = vector.to_vec();
    normalize(&mut vector);
    vector
}

/// Refuses a number of dimensions that no vector has.
pub fn checked_dimensions(dimensions: Option<usize>) -> Result<Option<usize>> {
    match dimensions {
        None | Some(1..=MAX_DIMENSIONS) => Ok(dimensions),
        Some(dimensions) => Err(Error::configuration(format!(
            "`dimensions` must be from 1 to {MAX_DIMENSIONS}, but is {dimensions}"
        ))),
    }
}

/// The words of a search that are looked for: the first different ones, at most [`MAX_WORDS`].
pub struct Words<'a> {
    /// Runs of letters and digits, with the marks above and below them.
    pub words: Vec<&'a str>,
    /// The text up to the last of them and what follows it.
    pub text: &'a str,
}

impl<'a> Words<'a> {
    /// `None` without any.
    pub fn of(text: &'a str) -> Option<Self> {
        let is_mark = |c| ('\u{300}'..='\u{36f}').contains(&c);
        let is_between = |c: char| !c.is_alphanumeric() && !is_mark(c);
        let (mut words, mut known) = (Vec::new(), BTreeSet::new());
        let (mut seen, mut end) = (0, 0);
        for piece in text.split_inclusive(is_between) {
            seen += piece.len();
            let word = piece.trim_end_matches(is_between);
            if words.len() < MAX_WORDS && word.contains(char::is_alphanumeric) && known.insert(word)
            {
                words.push(word);
                end = seen;
            }
        }
        Some(Self { text: text.get(..end)?, words }).filter(|found| !found.words.is_empty())
    }
}

/// What databases do not take although other stores do.
fn check_limits(entry: &EmbeddingEntry) -> Result<()> {
    let too_much = |what: &str, is: usize, most: usize| {
        let message = format!("the {what} {is}; a store in a database takes at most {most}");
        Err(Error::new(ErrorKind::InvalidRequest, message))
    };
    let text = entry.segment.text().len();
    let metadata = entry.segment.metadata().iter();
    let metadata: usize =
        metadata.map(|(key, value)| key.len() + value.as_text().map_or(8, str::len)).sum();
    match entry.vector.len() {
        dimensions if dimensions > MAX_DIMENSIONS => {
            too_much("numbers of the vector are", dimensions, MAX_DIMENSIONS)
        }
        _ if text > MAX_TEXT_BYTES => too_much("bytes of the text are", text, MAX_TEXT_BYTES),
        _ if metadata > MAX_METADATA_BYTES => {
            too_much("bytes of the metadata are", metadata, MAX_METADATA_BYTES)
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Metadata, TextSegment};

    fn entry(id: &str, vector: &[f32]) -> EmbeddingEntry {
        EmbeddingEntry::new(id, vector.to_vec(), TextSegment::new("x"))
    }

    #[test]
    fn last_entry_of_an_id_counts() {
        let given = vec![entry("b", &[1.0]), entry("a", &[-2.0]), entry("b", &[-1.0])];
        let Entries { entries, dimensions } = Entries::new(given, None).unwrap();
        assert_eq!(entries, [entry("a", &[-1.0]), entry("b", &[-1.0])]);
        assert_eq!(dimensions, Some(1));
        assert_eq!(Entries::new(Vec::new(), Some(3)).unwrap().dimensions, None);
    }

    #[test]
    fn entries_of_different_dimensions_are_refused() {
        let error = Entries::new(vec![entry("a", &[1.0]), entry("b", &[1.0, 2.0])], None);
        let error = error.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidRequest);
        assert!(error.to_string().starts_with("entry `b`: the vector has 2"), "{error}");
        assert!(Entries::new(vec![entry("a", &[1.0])], Some(2)).is_err());
        assert!(checked_dimensions(Some(0)).is_err());
    }

    #[test]
    fn too_long_entries_are_refused() {
        let text = TextSegment::new("x".repeat(MAX_TEXT_BYTES + 1));
        let metadata = Metadata::new().with("k", "x".repeat(MAX_METADATA_BYTES));
        for bad in [
            entry("a", &vec![1.0; MAX_DIMENSIONS + 1]),
            EmbeddingEntry::new("a", vec![1.0], text),
            EmbeddingEntry::new("a", vec![1.0], TextSegment::new("").with_metadata(metadata)),
        ] {
            let error = Entries::new(vec![bad], None).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidRequest);
            assert!(error.to_string().len() < 200, "{error}");
        }
    }

    #[test]
    fn words_are_runs_of_letters_and_digits() {
        let words = Words::of(" a \"b\" OR\0a\u{1}NEAR(c4) * cafe\u{301} \u{301} -- 🙂").unwrap();
        assert_eq!(words.words, ["a", "b", "OR", "NEAR", "c4", "cafe\u{301}"]);
        assert!(words.text.ends_with("cafe\u{301} "));
        let many: String = (0..2 * MAX_WORDS).map(|n| format!("w{n} ")).collect();
        let words = Words::of(&many).unwrap();
        assert_eq!(words.words.len(), MAX_WORDS);
        assert!(words.text.ends_with("w255 "));
        assert!(Words::of(" \n\0 . ").is_none());
    }
}
