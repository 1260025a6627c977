//! Checks of vectors and metadata, the same for every store.

use crate::document::MetadataValue;
use crate::error::{Error, ErrorKind, Result};
use std::borrow::Cow;

/// Maximum number of dimensions of a vector.
pub(super) const MAX_DIMENSIONS: usize = 65_536;

/// Maximum length of a metadata key, in bytes.
pub(super) const MAX_KEY_BYTES: usize = 1_024;

/// Fails if a vector has no direction: if it is empty, too long, zero, or not finite.
pub(super) fn check_vector(vector: &[f32]) -> Result<()> {
    if vector.is_empty() {
        return Err(wrong("the vector has no numbers"));
    }
    if vector.len() > MAX_DIMENSIONS {
        let length = vector.len();
        return Err(wrong(format!(
            "the vector has {length} numbers, but {MAX_DIMENSIONS} are possible"
        )));
    }
    if let Some(at) = vector.iter().position(|number| !number.is_finite()) {
        return Err(wrong(format!("number {} of the vector is not finite", at + 1)));
    }
    if vector.iter().all(|number| *number == 0.0) {
        return Err(wrong("the vector is zero"));
    }
    Ok(())
}

/// Fails if a vector has another length than the vectors of the store.
#[doc(hidden)]
pub fn check_dimensions(found: usize, expected: usize) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    Err(wrong(format!(
        "the vector has {found} numbers, but those in the store have {expected}; use the embedding model \
         that created the entries"
    )))
}

/// Creates the error of an invalid entry, filter or search.
#[doc(hidden)]
pub fn wrong(message: impl Into<Cow<'static, str>>) -> Error {
    Error::new(ErrorKind::InvalidRequest, message)
}

/// Fails if a metadata key is empty or too long.
pub(super) fn check_key(key: &str) -> Result<()> {
    match key.len() {
        0 => Err(wrong("a key of metadata is empty")),
        length if length > MAX_KEY_BYTES => Err(wrong(format!(
            "a key of metadata has at most {MAX_KEY_BYTES} bytes, but one has {length}"
        ))),
        _ => Ok(()),
    }
}

/// Fails if a value is a float that is not finite.
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

    #[test]
    fn vectors_without_a_direction_are_rejected() {
        let message = |vector: &[f32]| check_vector(vector).unwrap_err().to_string();
        assert_eq!(message(&[]), "the vector has no numbers");
        assert_eq!(message(&[1.0, f32::NAN]), "number 2 of the vector is not finite");
        assert_eq!(message(&[0.0, -0.0]), "the vector is zero");
        let long = vec![1.0; 65_537];
        assert_eq!(message(&long), "the vector has 65537 numbers, but 65536 are possible");
    }
}
