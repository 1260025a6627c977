//! Validation of entries and searches, the same for every store.

use super::vector::check_vector;
use super::{EmbeddingEntry, TextSearch, VectorSearch};
use crate::document::MetadataValue;
use crate::error::{Error, ErrorKind, Result};
use std::borrow::Cow;

impl EmbeddingEntry {
    /// Maximum length of an id, in bytes.
    pub const MAX_ID_BYTES: usize = 1_024;

    /// Maximum number of metadata keys of an entry.
    pub const MAX_KEYS: usize = 1_000;

    /// Maximum length of a metadata key, in bytes.
    pub const MAX_KEY_BYTES: usize = 1_024;

    /// Maximum number of dimensions of a vector. Some databases have a lower limit.
    pub const MAX_DIMENSIONS: usize = 65_536;

    /// Checks an entry against the rules of every store. Stores call this method before they write.
    ///
    /// # Errors
    ///
    /// [`InvalidRequest`](ErrorKind::InvalidRequest) if
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

impl VectorSearch<'_> {
    /// Checks a search against the rules of every store, except for the length of its vector. Stores call
    /// this method before they search.
    ///
    /// # Errors
    ///
    /// [`InvalidRequest`](ErrorKind::InvalidRequest) if the vector is empty, zero, too long or has a
    /// number that is not finite, if the minimum score is NaN, or if the filter is
    /// [rejected](super::Filter::check).
    pub fn check(&self) -> Result<()> {
        check_vector(self.vector)?;
        if self.min_score.is_nan() {
            return Err(wrong("the minimum score is not a number"));
        }
        self.filter.map_or(Ok(()), super::Filter::check)
    }
}

impl TextSearch<'_> {
    /// Checks a search against the rules of every store. Stores call this method before they search.
    ///
    /// # Errors
    ///
    /// [`InvalidRequest`](ErrorKind::InvalidRequest) if the filter is [rejected](super::Filter::check).
    pub fn check(&self) -> Result<()> {
        self.filter.map_or(Ok(()), super::Filter::check)
    }
}

#[doc(hidden)]
pub fn wrong(message: impl Into<Cow<'static, str>>) -> Error {
    Error::new(ErrorKind::InvalidRequest, message)
}

pub(super) fn check_key(key: &str) -> Result<()> {
    let max = EmbeddingEntry::MAX_KEY_BYTES;
    match key.len() {
        0 => Err(wrong("a key of metadata is empty")),
        length if length > max => {
            Err(wrong(format!("a key of metadata has at most {max} bytes, but one has {length}")))
        }
        _ => Ok(()),
    }
}

pub(super) fn check_value(key: &str, value: &MetadataValue) -> Result<()> {
    match value {
        MetadataValue::Float(number) if !number.is_finite() => {
            Err(wrong(format!("the value of the key `{key}` is not finite")))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Metadata, TextSegment};

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

    #[test]
    fn searches_are_checked() {
        assert!(VectorSearch::new(&[1.0]).min_score(-1.0).check().is_ok());
        assert!(VectorSearch::new(&[1.0]).min_score(f64::NAN).check().is_err());
        assert!(VectorSearch::new(&[]).check().is_err());
        let filter = super::super::Filter::key("").exists();
        assert!(VectorSearch::new(&[1.0]).filter(&filter).check().is_err());
        assert!(TextSearch::new("").filter(&filter).check().is_err());
    }
}
