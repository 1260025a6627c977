//! Booleans, numbers, texts and names, in the spellings that models use.

use super::{Fault, Reader};
use crate::output::json::{self, Node};
use serde::de::{Error, Unexpected, Visitor};

/// The text of a value that is written as text where JSON has a word of its own for it.
fn spelled<'de>(reader: Reader<'de>) -> Option<&'de str> {
    match reader.node {
        _ if !reader.manner.is_lenient => None,
        Node::Text(text) => Some(text.text.trim()),
        Node::Bare(text) => Some(text.trim()),
        _ => None,
    }
}

pub(super) fn boolean<'de, V: Visitor<'de>>(
    reader: Reader<'de>,
    visitor: V,
) -> Result<V::Value, Fault> {
    let is = |word: &str| spelled(reader).is_some_and(|text| text.eq_ignore_ascii_case(word));
    match reader.node {
        Node::Bool(value) => visitor.visit_bool(*value),
        _ if is("true") => visitor.visit_bool(true),
        _ if is("false") => visitor.visit_bool(false),
        _ => reader.wrong(&visitor),
    }
}

/// Reads an integer of the type `I`.
pub(super) fn integer<'de, I: TryFrom<i128> + TryFrom<u128>, V: Visitor<'de>>(
    reader: Reader<'de>,
    visitor: V,
) -> Result<V::Value, Fault> {
    let text = match reader.node {
        Node::Number(text) => text,
        _ => match spelled(reader).filter(|text| json::is_decimal(text)) {
            Some(text) => text,
            None => return reader.wrong(&visitor),
        },
    };
    let is_integer = reader.manner.is_lenient || !text.contains(['.', 'e', 'E']);
    let whole = json::whole(text).filter(|_| is_integer);
    let signed = whole.and_then(|whole| {
        let magnitude = i128::try_from(whole.magnitude);
        match whole.is_negative {
            // The smallest number has no positive counterpart.
            true if whole.magnitude == i128::MIN.unsigned_abs() => Some(i128::MIN),
            true => magnitude.ok().map(|magnitude| -magnitude),
            false => magnitude.ok(),
        }
    });
    let unsigned = whole.filter(|whole| !whole.is_negative).map(|whole| whole.magnitude);
    let fits = signed.is_some_and(|value| I::try_from(value).is_ok())
        || unsigned.is_some_and(|value| I::try_from(value).is_ok());
    match (signed, unsigned) {
        _ if !fits => Err(Fault::invalid_value(Unexpected::Other(text), &visitor)),
        // As `serde_json` hands them over: in 64 bits if they fit.
        (Some(value), _) => match (u64::try_from(value), i64::try_from(value)) {
            (Ok(value), _) => visitor.visit_u64(value),
            (_, Ok(value)) => visitor.visit_i64(value),
            _ => visitor.visit_i128(value),
        },
        (None, Some(value)) => visitor.visit_u128(value),
        (None, None) => Err(Fault::invalid_value(Unexpected::Other(text), &visitor)),
    }
}

pub(super) fn float<'de, F, V>(
    reader: Reader<'de>,
    visitor: V,
    visit: impl FnOnce(V, F) -> Result<V::Value, Fault>,
) -> Result<V::Value, Fault>
where
    F: std::str::FromStr + Into<f64> + Copy,
    V: Visitor<'de>,
{
    let text = match reader.node {
        Node::Number(text) => text,
        _ => match spelled(reader).filter(|text| json::is_decimal(text)) {
            Some(text) => text,
            None => return reader.wrong(&visitor),
        },
    };
    match json::float(text) {
        Some(value) => visit(visitor, value),
        None => Err(Fault::invalid_value(Unexpected::Other(text), &visitor)),
    }
}

/// Reads a number of whatever type it is.
pub(super) fn number<'de, V: Visitor<'de>>(
    text: &'de str,
    reader: Reader<'de>,
    visitor: V,
) -> Result<V::Value, Fault> {
    let is_integer = !text.contains(['.', 'e', 'E']);
    let whole = json::whole(text).filter(|_| is_integer || reader.manner.is_lenient);
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
        None => Err(Fault::invalid_value(Unexpected::Other(text), &visitor)),
    }
}

/// Reads a text; numbers and booleans are texts too if nothing else will do.
pub(super) fn text<'de, V: Visitor<'de>>(
    reader: Reader<'de>,
    visitor: V,
) -> Result<V::Value, Fault> {
    let is_lenient = reader.manner.is_lenient;
    match reader.node {
        Node::Text(text) => visitor.visit_borrowed_str(&text.text),
        Node::Bare(text) => visitor.visit_borrowed_str(text),
        Node::Number(text) if is_lenient => visitor.visit_borrowed_str(text),
        Node::Bool(true) if is_lenient => visitor.visit_borrowed_str("true"),
        Node::Bool(false) if is_lenient => visitor.visit_borrowed_str("false"),
        _ => reader.wrong(&visitor),
    }
}

/// The variant that a name means: the very name, or the only one that differs in case alone.
pub(super) fn variant(name: &str, variants: &[&'static str]) -> Option<&'static str> {
    let name = name.trim();
    if let Some(variant) = variants.iter().find(|variant| **variant == name) {
        return Some(variant);
    }
    let lower = name.to_lowercase();
    let mut alike = variants.iter().filter(|variant| variant.to_lowercase() == lower);
    let only = alike.next()?;
    alike.next().is_none().then_some(only)
}

/// A name without the one pair of brackets that models like to put around it.
pub(super) fn unbracketed(text: &str) -> &str {
    let text = text.trim();
    let inner = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    inner.map_or(text, str::trim)
}
