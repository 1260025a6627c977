//! What embedding stores check before a database is asked, and how they read a search by words.

use crate::document::MetadataValue;
use crate::embedding::{EmbeddingEntry, Filter};
use crate::error::{Error, ErrorKind, Result};
use std::collections::BTreeSet;

/// The longest id of an entry, in bytes: an index entry of PostgreSQL has at most 2704.
const MAX_ID_BYTES: usize = 2 * 1024;

/// The longest text of an entry, in bytes.
const MAX_TEXT_BYTES: usize = 1024 * 1024;

/// The longest key of metadata, in bytes: the longest one that a filter can name.
const MAX_KEY_BYTES: usize = 1024;

/// How much metadata an entry has at most: keys and texts, in bytes.
const MAX_METADATA_BYTES: usize = 256 * 1024;

/// The longest vector: pgvector has no longer ones.
const MAX_DIMENSIONS: usize = 16_000;

/// How many different words of a search are looked for.
const MAX_WORDS: usize = 256;

/// Entries that are valid: each id once, in the order of the ids, with vectors of length 1.
#[derive(Clone, Debug, Default)]
pub(crate) struct Entries {
    pub(crate) entries: Vec<EmbeddingEntry>,
    /// The dimensions of all of them; `None` without any.
    pub(crate) dimensions: Option<usize>,
}

impl Entries {
    /// Refuses what a store does not take. Of entries with one id the last one counts.
    pub(crate) fn new(mut entries: Vec<EmbeddingEntry>, fixed: Option<usize>) -> Result<Self> {
        let mut dimensions = fixed;
        for entry in &mut entries {
            check_id(&entry.id)?;
            let named = |error: Error| {
                let message = format!("the entry `{}`: {error}", entry.id);
                Error::new(error.kind(), message)
            };
            check_segment(entry).map_err(named)?;
            entry.vector = normalised(&entry.vector).map_err(named)?;
            let own = entry.vector.len();
            let known = *dimensions.get_or_insert(own);
            check_dimensions(own, known).map_err(named)?;
        }
        entries.reverse();
        entries.sort_by(|one, other| one.id.cmp(&other.id));
        entries.dedup_by(|later, earlier| later.id == earlier.id);
        Ok(Self { dimensions: dimensions.filter(|_| !entries.is_empty()), entries })
    }
}

/// The vector of length 1 in the same direction.
pub(crate) fn normalised(vector: &[f32]) -> Result<Vec<f32>> {
    match vector.len() {
        0 => return Err(invalid("the vector is empty")),
        1..=MAX_DIMENSIONS => {}
        length => {
            return Err(invalid(format!(
                "the vector has {length} dimensions; a store takes at most {MAX_DIMENSIONS}"
            )));
        }
    }
    // Squares of what an `f32` can be are within an `f64`, the smallest ones too.
    let length = vector.iter().map(|number| f64::from(*number).powi(2)).sum::<f64>().sqrt();
    if !length.is_finite() {
        return Err(invalid("the vector has a number that is not finite"));
    }
    if length == 0.0 {
        return Err(invalid("the vector is zero, so it has no direction"));
    }
    #[allow(clippy::cast_possible_truncation, reason = "vectors are kept with this precision")]
    Ok(vector.iter().map(|number| (f64::from(*number) / length) as f32).collect())
}

/// Refuses a vector that cannot be compared with those of the store.
pub(crate) fn check_dimensions(own: usize, of_store: usize) -> Result<()> {
    if own == of_store {
        return Ok(());
    }
    Err(invalid(format!(
        "the vector has {own} dimensions, but those of the store have {of_store}; embed everything \
         with one model, or use another table"
    )))
}

/// Refuses filters that no store takes.
pub(crate) fn check_filter(filter: Option<&Filter>) -> Result<()> {
    let _ = filter;
    Ok(())
}

/// The different words of a text that are looked for, at most [`MAX_WORDS`]. They hold no white space,
/// and neither do they hold control characters, which end a text in SQLite's search.
pub(crate) fn words(text: &str) -> Vec<&str> {
    let words = text
        .split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|word| word.contains(char::is_alphanumeric));
    let mut known = BTreeSet::new();
    words.filter(|word| known.insert(*word)).take(MAX_WORDS).collect()
}

/// How well an entry fits by the cosine of the angle between its vector and the one searched for.
pub(crate) fn score(cosine: f64) -> f64 {
    // A rounding error may lead outside.
    f64::midpoint(1.0, cosine).clamp(0.0, 1.0)
}

fn check_id(id: &str) -> Result<()> {
    if id.len() <= MAX_ID_BYTES {
        return Ok(());
    }
    Err(invalid(format!(
        "the id of an entry has at most {MAX_ID_BYTES} bytes, but one has {}",
        id.len()
    )))
}

fn check_segment(entry: &EmbeddingEntry) -> Result<()> {
    let text = entry.segment.text().len();
    if text > MAX_TEXT_BYTES {
        return Err(invalid(format!(
            "the text has {text} bytes; a store takes at most {MAX_TEXT_BYTES}, cut it into segments"
        )));
    }
    let mut bytes = 0;
    for (key, value) in entry.segment.metadata().iter() {
        if key.len() > MAX_KEY_BYTES {
            return Err(invalid(format!(
                "a key of the metadata has {} bytes; it has at most {MAX_KEY_BYTES}",
                key.len()
            )));
        }
        bytes += key.len();
        match value {
            MetadataValue::Text(text) => bytes += text.len(),
            MetadataValue::Float(number) if !number.is_finite() => {
                return Err(invalid(format!("`{key}` in the metadata is {number}, not a number")));
            }
            _ => bytes += size_of::<f64>(),
        }
    }
    if bytes > MAX_METADATA_BYTES {
        return Err(invalid(format!(
            "the metadata have {bytes} bytes; a store takes at most {MAX_METADATA_BYTES}"
        )));
    }
    Ok(())
}

fn invalid(message: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::new(ErrorKind::InvalidRequest, message)
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
    fn vectors_of_any_length_are_normalised() {
        for scale in [1e-45_f32, 1e-30, 1.0, 3e38] {
            assert_eq!(normalised(&[scale, 0.0]).unwrap(), [1.0, 0.0], "{scale}");
        }
        let half = normalised(&[f32::MAX, -f32::MAX]).unwrap();
        assert!((half[0] - 0.5_f32.sqrt()).abs() < 1e-7 && half[1] == -half[0]);
    }

    #[test]
    fn bad_vectors_are_refused() {
        let long = vec![1.0; MAX_DIMENSIONS + 1];
        let bad: [&[f32]; 6] =
            [&[], &[0.0, -0.0], &[f32::NAN], &[1.0, f32::INFINITY], &[f32::NEG_INFINITY], &long];
        for vector in bad {
            let error = normalised(vector).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidRequest);
        }
        let error = Entries::new(vec![entry("a", &[1.0]), entry("b", &[1.0, 2.0])], None);
        assert!(error.unwrap_err().to_string().starts_with("the entry `b`: the vector has 2 dim"));
        assert!(Entries::new(vec![entry("a", &[1.0])], Some(2)).is_err());
    }

    #[test]
    fn too_long_entries_are_refused() {
        let id = "x".repeat(MAX_ID_BYTES + 1);
        let text = TextSegment::new("x".repeat(MAX_TEXT_BYTES + 1));
        let with =
            |metadata| EmbeddingEntry::new("a", vec![1.0], TextSegment::new("").with_metadata(metadata));
        for bad in [
            entry(&id, &[1.0]),
            EmbeddingEntry::new("a", vec![1.0], text),
            with(Metadata::new().with("k".repeat(MAX_KEY_BYTES + 1), 1)),
            with(Metadata::new().with("k", "x".repeat(MAX_METADATA_BYTES))),
            with(Metadata::new().with("k", f64::NAN)),
        ] {
            let error = Entries::new(vec![bad], None).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidRequest);
            assert!(error.to_string().len() < 200, "{error}");
        }
    }

    #[test]
    fn words_are_without_what_a_search_could_read() {
        assert_eq!(words("a \"b\" OR\0a\u{1}NEAR(c) * -- 🙂"), ["a", "\"b\"", "OR", "NEAR(c)"]);
        let many: String = (0..2 * MAX_WORDS).map(|n| format!("w{n} ")).collect();
        assert_eq!(words(&many).len(), MAX_WORDS);
        assert!(words(" \n\0 . ").is_empty());
    }

    #[test]
    fn scores_are_between_zero_and_one() {
        assert_eq!([-1.000_1, -1.0, 0.0, 1.000_1].map(score), [0.0, 0.0, 0.5, 1.0]);
    }
}
