//! The entries of embedding stores.

use super::check::{self, check_key, check_value, check_vector, wrong};
use crate::document::TextSegment;
use crate::error::Result;

/// A vector with its text.
///
/// # Examples
///
/// ```
/// use ai_services::document::{Metadata, TextSegment};
/// use ai_services::embedding::EmbeddingEntry;
///
/// let text = TextSegment::new("Bananas are berries.");
/// let text = text.with_metadata(Metadata::new().with("source", "fruit.md"));
/// // With a stable id, adding the text again replaces the entry.
/// let entry = EmbeddingEntry::new("fruit.md#0", vec![0.1, 0.7], text);
/// assert!(entry.check().is_ok());
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct EmbeddingEntry {
    /// The unique id of the entry in its store. At most [`MAX_ID_BYTES`](Self::MAX_ID_BYTES).
    pub id: Box<str>,
    /// The vector. All vectors of a store have the same length.
    pub vector: Vec<f32>,
    /// The text with its metadata.
    pub segment: TextSegment,
}

impl EmbeddingEntry {
    /// Maximum length of an id, in bytes.
    pub const MAX_ID_BYTES: usize = 1_024;

    /// Maximum number of metadata keys of an entry.
    pub const MAX_KEYS: usize = 1_000;

    /// Maximum length of a metadata key, in bytes.
    pub const MAX_KEY_BYTES: usize = check::MAX_KEY_BYTES;

    /// Maximum number of dimensions of a vector. Some databases have a lower limit.
    pub const MAX_DIMENSIONS: usize = check::MAX_DIMENSIONS;

    /// Creates an entry.
    #[must_use]
    pub fn new(id: impl Into<Box<str>>, vector: Vec<f32>, segment: TextSegment) -> Self {
        Self { id: id.into(), vector, segment }
    }

    /// Checks an entry against the rules of every store. Stores call this method before they write.
    ///
    /// # Errors
    ///
    /// [`InvalidRequest`](crate::ErrorKind::InvalidRequest) if
    ///
    /// * the id is empty or longer than [`MAX_ID_BYTES`](Self::MAX_ID_BYTES),
    /// * the vector is empty, zero, too long or has a number that is not finite,
    /// * the metadata has too many keys, a key that is empty or too long, or a float that is not finite.
    ///
    /// # Examples
    ///
    /// ```
    /// use ai_services::document::TextSegment;
    /// use ai_services::embedding::EmbeddingEntry;
    ///
    /// let entry = EmbeddingEntry::new("a.md#1", vec![0.6, 0.8], TextSegment::new("Hello!"));
    /// assert!(entry.check().is_ok());
    /// let entry = EmbeddingEntry::new("a.md#2", vec![0.0, 0.0], TextSegment::new("Bye!"));
    /// assert_eq!(entry.check().unwrap_err().to_string(), "entry `a.md#2`: the vector is zero");
    /// ```
    pub fn check(&self) -> Result<()> {
        let Self { id, vector, segment } = self;
        if id.is_empty() {
            return Err(wrong("the id of an entry is empty"));
        }
        if id.len() > Self::MAX_ID_BYTES {
            return Err(wrong(format!(
                "the id of an entry has at most {} bytes, but one has {}",
                Self::MAX_ID_BYTES,
                id.len()
            )));
        }
        self.with_id(check_vector(vector))?;
        let keys = segment.metadata().len();
        if keys > Self::MAX_KEYS {
            let max = Self::MAX_KEYS;
            let too_many = format!("the metadata has {keys} keys, but {max} are possible");
            return self.with_id(Err(wrong(too_many)));
        }
        segment.metadata().iter().try_for_each(|(key, value)| {
            self.with_id(check_key(key).and_then(|()| check_value(key, value)))
        })
    }

    fn with_id(&self, checked: Result<()>) -> Result<()> {
        checked.map_err(|error| wrong(format!("entry `{}`: {error}", self.id)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Metadata;
    use crate::error::ErrorKind;

    fn entry(id: &str, metadata: Metadata) -> EmbeddingEntry {
        EmbeddingEntry::new(id, vec![1.0], TextSegment::new("").with_metadata(metadata))
    }

    #[test]
    fn entries_are_limited() {
        let good = Metadata::new().with("a", f64::MAX).with("b", "").with("k".repeat(1024), 1);
        assert!(entry(&"i".repeat(1024), good).check().is_ok());
        let many = (0..1001).map(|number| (number.to_string(), number)).collect();
        let wrong = [
            (entry("", Metadata::new()), "the id of an entry is empty"),
            (entry(&"i".repeat(1025), Metadata::new()), "at most 1024 bytes, but one has 1025"),
            (entry("a", Metadata::new().with("", 1)), "entry `a`: a key of metadata is empty"),
            (entry("a", Metadata::new().with("x", f64::NAN)), "key `x` is not finite"),
            (entry("a", many), "1001 keys, but 1000 are possible"),
            (EmbeddingEntry { vector: Vec::new(), ..entry("a", Metadata::new()) }, "no numbers"),
        ];
        for (entry, expected) in wrong {
            let error = entry.check().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidRequest);
            assert!(error.to_string().contains(expected), "{error}");
        }
    }
}
