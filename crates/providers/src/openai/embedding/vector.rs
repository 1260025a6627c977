//! A vector as a list of numbers or as base64.

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};
use std::fmt;

/// The maximum number of components for which memory is reserved in advance.
const MAX_RESERVED: usize = 4096;

/// The components of a vector, parsed from a list or from base64 of little-endian `f32`. All are finite.
#[derive(Debug, PartialEq)]
pub(super) struct Vector(pub(super) Vec<f32>);

impl<'de> Deserialize<'de> for Vector {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(VectorVisitor)
    }
}

struct VectorVisitor;

impl<'de> Visitor<'de> for VectorVisitor {
    type Value = Vector;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a vector as a list of numbers or as base64")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Vector, E> {
        let bytes = decode(text).ok_or_else(|| E::custom("the vector is not base64"))?;
        let (numbers, rest) = bytes.as_chunks::<4>();
        if !rest.is_empty() {
            return Err(E::custom("the vector ends in the middle of a number"));
        }
        finite(numbers.iter().map(|number| f32::from_le_bytes(*number)).collect())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vector, A::Error> {
        let expected = list.size_hint().unwrap_or(0).min(MAX_RESERVED);
        let mut numbers = Vec::with_capacity(expected);
        while let Some(number) = list.next_element::<f32>()? {
            numbers.push(number);
        }
        finite(numbers)
    }
}

fn finite<E: Error>(numbers: Vec<f32>) -> Result<Vector, E> {
    if numbers.iter().all(|number| number.is_finite()) {
        Ok(Vector(numbers))
    } else {
        Err(E::custom("the vector has a component that is not a finite number"))
    }
}

/// Decodes base64 in the standard alphabet, padded or not.
fn decode(text: &str) -> Option<Vec<u8>> {
    const UNPADDED: GeneralPurpose = GeneralPurpose::new(
        &STANDARD,
        GeneralPurposeConfig::new()
            .with_decode_allow_trailing_bits(true)
            .with_decode_padding_mode(DecodePaddingMode::RequireNone),
    );
    UNPADDED.decode(text.trim_end_matches('=')).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Option<Vec<f32>> {
        serde_json::from_str::<Vector>(json).ok().map(|vector| vector.0)
    }

    #[test]
    fn base64_matches_the_test_vectors_of_the_rfc() {
        // RFC 4648, section 10.
        let encoded = ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"];
        let plain = ["", "f", "fo", "foo", "foob", "fooba", "foobar"];
        for (encoded, plain) in encoded.into_iter().zip(plain) {
            assert_eq!(decode(encoded).as_deref(), Some(plain.as_bytes()));
            assert_eq!(decode(encoded.trim_end_matches('=')).as_deref(), Some(plain.as_bytes()));
        }
        for wrong in ["A", "AAAAA", "A-__", "AA A", "é"] {
            assert_eq!(decode(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn list_and_base64_are_parsed() {
        // 1.0, -2.5 and 0.1 as little-endian f32.
        assert_eq!(read(r#""AACAPwAAIMDNzMw9""#), Some(vec![1.0, -2.5, 0.1]));
        assert_eq!(read("[1, -2.5, 1e-1]"), Some(vec![1.0, -2.5, 0.1]));
    }

    #[test]
    fn malformed_vector_is_an_error() {
        // Half a number, infinity, NaN.
        for wrong in [r#""AACAPwAA""#, r#""AACAfw==""#, r#""AADAfw==""#, "[1e99]", "[null]", "{}"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
