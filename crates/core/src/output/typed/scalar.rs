//! Booleans, numbers, texts and variant names, in the notations that models use.

use super::{ReadError, Reader};
use crate::output::json::{self, Node};
use serde::de::{Error, Unexpected, Visitor};

/// Returns the text of a boolean or number that is written as text. `None` in strict mode.
fn quoted_text<'de>(reader: Reader<'de>) -> Option<&'de str> {
    match reader.node {
        _ if !reader.options.is_lenient => None,
        Node::Text(text) => Some(text.text.trim()),
        Node::Bare(text) => Some(text.trim()),
        _ => None,
    }
}

/// Reads a boolean.
pub(super) fn boolean<'de, V: Visitor<'de>>(
    reader: Reader<'de>,
    visitor: V,
) -> Result<V::Value, ReadError> {
    let is = |word: &str| quoted_text(reader).is_some_and(|text| text.eq_ignore_ascii_case(word));
    match reader.node {
        Node::Bool(value) => visitor.visit_bool(*value),
        _ if is("true") => visitor.visit_bool(true),
        _ if is("false") => visitor.visit_bool(false),
        _ => reader.wrong_type(&visitor),
    }
}

/// Reads an integer of the type `I`.
pub(super) fn integer<'de, I: TryFrom<i128> + TryFrom<u128>, V: Visitor<'de>>(
    reader: Reader<'de>,
    visitor: V,
) -> Result<V::Value, ReadError> {
    let text = match reader.node {
        Node::Number(text) => {
            // The usual number has a few digits, which `std` reads faster than the exact reader.
            if let Ok(value) = text.parse::<u64>()
                && I::try_from(i128::from(value)).is_ok()
            {
                return visitor.visit_u64(value);
            }
            &**text
        }
        _ => match quoted_text(reader).filter(|text| json::is_decimal(text)) {
            Some(text) => text,
            None => return reader.wrong_type(&visitor),
        },
    };
    let is_integer = reader.options.is_lenient || !text.contains(['.', 'e', 'E']);
    let whole = json::integer(text).filter(|_| is_integer);
    let signed = whole.and_then(|whole| {
        let magnitude = i128::try_from(whole.magnitude);
        if !whole.is_negative {
            magnitude.ok()
        } else if whole.magnitude == i128::MIN.unsigned_abs() {
            // The minimum of `i128` has no positive counterpart.
            Some(i128::MIN)
        } else {
            magnitude.ok().map(|magnitude| -magnitude)
        }
    });
    let unsigned = whole.filter(|whole| !whole.is_negative).map(|whole| whole.magnitude);
    let fits = signed.is_some_and(|value| I::try_from(value).is_ok())
        || unsigned.is_some_and(|value| I::try_from(value).is_ok());
    match (signed, unsigned) {
        _ if !fits => Err(ReadError::invalid_value(Unexpected::Other(text), &visitor)),
        // Like `serde_json`: as 64 bits if the number fits.
        (Some(value), _) => match (u64::try_from(value), i64::try_from(value)) {
            (Ok(value), _) => visitor.visit_u64(value),
            (_, Ok(value)) => visitor.visit_i64(value),
            _ => visitor.visit_i128(value),
        },
        (None, Some(value)) => visitor.visit_u128(value),
        (None, None) => Err(ReadError::invalid_value(Unexpected::Other(text), &visitor)),
    }
}

/// Reads a finite float.
pub(super) fn float<'de, F, V>(
    reader: Reader<'de>,
    visitor: V,
    visit: impl FnOnce(V, F) -> Result<V::Value, ReadError>,
) -> Result<V::Value, ReadError>
where
    F: std::str::FromStr + Into<f64> + Copy,
    V: Visitor<'de>,
{
    let text = match reader.node {
        Node::Number(text) => &**text,
        _ => match quoted_text(reader).filter(|text| json::is_decimal(text)) {
            Some(text) => text,
            None => return reader.wrong_type(&visitor),
        },
    };
    match json::float(text) {
        Some(value) => visit(visitor, value),
        None => Err(ReadError::invalid_value(Unexpected::Other(text), &visitor)),
    }
}

/// Reads a number for a type that accepts any number.
pub(super) fn number<'de, V: Visitor<'de>>(
    text: &'de str,
    reader: Reader<'de>,
    visitor: V,
) -> Result<V::Value, ReadError> {
    let is_integer = !text.contains(['.', 'e', 'E']);
    let whole = json::integer(text).filter(|_| is_integer || reader.options.is_lenient);
    if let Some(whole) = whole.filter(|whole| whole.magnitude != 0 || !whole.is_negative) {
        match (whole.is_negative, u64::try_from(whole.magnitude)) {
            (false, Ok(value)) => return visitor.visit_u64(value),
            (true, Ok(value)) => {
                if let Some(value) = 0i64.checked_sub_unsigned(value) {
                    return visitor.visit_i64(value);
                }
            }
            (_, Err(_)) => {}
        }
    }
    match json::float::<f64>(text) {
        Some(value) => visitor.visit_f64(value),
        None => Err(ReadError::invalid_value(Unexpected::Other(text), &visitor)),
    }
}

/// Reads a text. In lenient mode numbers and booleans are accepted too.
pub(super) fn text<'de, V: Visitor<'de>>(
    reader: Reader<'de>,
    visitor: V,
) -> Result<V::Value, ReadError> {
    let is_lenient = reader.options.is_lenient;
    match reader.node {
        Node::Text(text) => visitor.visit_borrowed_str(&text.text),
        Node::Bare(text) => visitor.visit_borrowed_str(text),
        Node::Number(text) if is_lenient => visitor.visit_borrowed_str(text),
        Node::Bool(true) if is_lenient => visitor.visit_borrowed_str("true"),
        Node::Bool(false) if is_lenient => visitor.visit_borrowed_str("false"),
        _ => reader.wrong_type(&visitor),
    }
}

/// Returns the variant with this name: an exact match, or the only match that ignores case.
pub(super) fn variant(name: &str, variants: &[&'static str]) -> Option<&'static str> {
    let name = name.trim();
    if let Some(variant) = variants.iter().find(|variant| **variant == name) {
        return Some(variant);
    }
    let lower = name.to_lowercase();
    let mut matches = variants.iter().filter(|variant| variant.to_lowercase() == lower);
    let only = matches.next()?;
    matches.next().is_none().then_some(only)
}

/// Removes one pair of brackets around a name, which some models add.
pub(super) fn unbracketed(text: &str) -> &str {
    let text = text.trim();
    let inner = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    inner.map_or(text, str::trim)
}
