//! Validation of entries and search texts, for stores of embeddings.
//!
//! An embedding store calls these functions before it sends anything to its database.

use crate::embedding::{EmbeddingEntry, check_dimensions, normalize};
use crate::error::{Error, ErrorKind, Result};
use std::collections::BTreeSet;

/// Maximum length of the text of an entry, in bytes.
const MAX_TEXT_BYTES: usize = 4 * 1024 * 1024;

/// Maximum size of the metadata of an entry, in bytes: keys and values, a number or boolean counting as 8.
const MAX_METADATA_BYTES: usize = 256 * 1024;

/// Maximum number of dimensions of a vector, which is pgvector's limit.
const MAX_DIMENSIONS: usize = 16_000;

/// Maximum number of different words of a search text.
const MAX_WORDS: usize = 256;

/// Entries that passed validation: each id once, sorted by id, with vectors of length 1.
///
/// A store creates it from the entries that `EmbeddingStore::replace` receives, and writes
/// [`entries`](Self::entries).
#[derive(Clone, Debug, Default)]
pub struct CheckedEntries {
    /// The entries to write.
    pub entries: Vec<EmbeddingEntry>,
    /// Number of dimensions of every vector; `None` if there are no entries.
    pub dimensions: Option<usize>,
}

impl CheckedEntries {
    /// Validates the entries and normalizes their vectors. If several entries have the same id, the last one
    /// is used.
    ///
    /// `fixed` is the number of dimensions that the store is configured with, if any.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::InvalidRequest`] if a vector has more than 16,000 dimensions, a text has more
    /// than 4 MiB, or the metadata of an entry has more than 256 KiB. Also fails if the vectors differ in
    /// their number of dimensions, or if [`EmbeddingEntry::check`] fails.
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

/// Returns the vector scaled to length 1.
///
/// A store calls it for the vector of a search, after `VectorSearch::check`.
pub fn normalized(vector: &[f32]) -> Vec<f32> {
    let mut vector = vector.to_vec();
    normalize(&mut vector);
    vector
}

/// Validates the `dimensions` setting of a store's builder.
///
/// # Errors
///
/// Returns [`ErrorKind::Configuration`] if the number is 0 or greater than 16,000.
pub fn checked_dimensions(dimensions: Option<usize>) -> Result<Option<usize>> {
    match dimensions {
        None | Some(1..=MAX_DIMENSIONS) => Ok(dimensions),
        Some(dimensions) => Err(Error::configuration(format!(
            "`dimensions` must be from 1 to {MAX_DIMENSIONS}, but is {dimensions}"
        ))),
    }
}

/// The distinct words of a search text, at most the first 256.
///
/// A store builds its full-text query from [`words`](Self::words), or passes [`text`](Self::text) to the
/// tokenizer of its database.
#[derive(Clone, Debug)]
pub struct SearchWords<'a> {
    /// Words: runs of letters and digits, including combining marks.
    pub words: Vec<&'a str>,
    /// Prefix of the search text that ends with the last word and the separator after it.
    pub text: &'a str,
}

impl<'a> SearchWords<'a> {
    /// Splits a search text into words. Returns `None` if it contains no word; the search then has no
    /// results.
    pub fn parse(text: &'a str) -> Option<Self> {
        let is_mark = |c| ('\u{300}'..='\u{36f}').contains(&c);
        let is_separator = |c: char| !c.is_alphanumeric() && !is_mark(c);
        let (mut words, mut known) = (Vec::new(), BTreeSet::new());
        let (mut seen, mut end) = (0, 0);
        for piece in text.split_inclusive(is_separator) {
            seen += piece.len();
            let word = piece.trim_end_matches(is_separator);
            if words.len() < MAX_WORDS && word.contains(char::is_alphanumeric) && known.insert(word)
            {
                words.push(word);
                end = seen;
            }
        }
        Some(Self { text: text.get(..end)?, words }).filter(|found| !found.words.is_empty())
    }
}

/// Checks the limits that database stores have in addition to those of every store.
fn check_limits(entry: &EmbeddingEntry) -> Result<()> {
    let too_large = |subject: &str, size: usize, unit: &str, limit: usize| {
        let message =
            format!("the {subject} has {size} {unit}; a database store accepts at most {limit}");
        Err(Error::new(ErrorKind::InvalidRequest, message))
    };
    let text = entry.segment.text().len();
    let metadata = entry.segment.metadata().iter();
    let metadata: usize =
        metadata.map(|(key, value)| key.len() + value.as_text().map_or(8, str::len)).sum();
    match entry.vector.len() {
        dimensions if dimensions > MAX_DIMENSIONS => {
            too_large("vector", dimensions, "dimensions", MAX_DIMENSIONS)
        }
        _ if text > MAX_TEXT_BYTES => too_large("text", text, "bytes", MAX_TEXT_BYTES),
        _ if metadata > MAX_METADATA_BYTES => {
            too_large("metadata", metadata, "bytes", MAX_METADATA_BYTES)
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
    fn last_entry_with_an_id_is_used() {
        let input = vec![entry("b", &[1.0]), entry("a", &[-2.0]), entry("b", &[-1.0])];
        let CheckedEntries { entries, dimensions } = CheckedEntries::new(input, None).unwrap();
        assert_eq!(entries, [entry("a", &[-1.0]), entry("b", &[-1.0])]);
        assert_eq!(dimensions, Some(1));
        assert_eq!(CheckedEntries::new(Vec::new(), Some(3)).unwrap().dimensions, None);
    }

    #[test]
    fn entries_with_different_dimensions_are_rejected() {
        let error = CheckedEntries::new(vec![entry("a", &[1.0]), entry("b", &[1.0, 2.0])], None);
        let error = error.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidRequest);
        assert!(error.to_string().starts_with("entry `b`: the vector has 2"), "{error}");
        assert!(CheckedEntries::new(vec![entry("a", &[1.0])], Some(2)).is_err());
        assert!(checked_dimensions(Some(0)).is_err());
    }

    #[test]
    fn too_large_entries_are_rejected() {
        let text = TextSegment::new("x".repeat(MAX_TEXT_BYTES + 1));
        let metadata = Metadata::new().with("k", "x".repeat(MAX_METADATA_BYTES));
        for bad in [
            entry("a", &vec![1.0; MAX_DIMENSIONS + 1]),
            EmbeddingEntry::new("a", vec![1.0], text),
            EmbeddingEntry::new("a", vec![1.0], TextSegment::new("").with_metadata(metadata)),
        ] {
            let error = CheckedEntries::new(vec![bad], None).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidRequest);
            assert!(error.to_string().len() < 200, "{error}");
        }
    }

    #[test]
    fn words_are_runs_of_letters_and_digits() {
        let words =
            SearchWords::parse(" a \"b\" OR\0a\u{1}NEAR(c4) * cafe\u{301} \u{301} -- 🙂").unwrap();
        assert_eq!(words.words, ["a", "b", "OR", "NEAR", "c4", "cafe\u{301}"]);
        assert!(words.text.ends_with("cafe\u{301} "));
        let many: String = (0..2 * MAX_WORDS).map(|n| format!("w{n} ")).collect();
        let words = SearchWords::parse(&many).unwrap();
        assert_eq!(words.words.len(), MAX_WORDS);
        assert!(words.text.ends_with("w255 "));
        assert!(SearchWords::parse(" \n\0 . ").is_none());
    }
}
