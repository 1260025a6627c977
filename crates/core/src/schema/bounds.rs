//! Replaces the formats of Rust's number types by numeric bounds.
//!
//! The bounds of types with 64 bits or more are left out: models do not come near them, providers read them
//! as floats, and they cost tokens.

use serde_json::{Map, Number, Value};

/// Replaces a format such as `uint32` by the minimum and maximum of the type.
pub(super) fn add(members: &mut Map<String, Value>) {
    let Some(format) = members.get("format").and_then(Value::as_str) else { return };
    let Some((minimum, maximum)) = bounds(format) else { return };
    members.remove("format");
    for (name, bound) in [("minimum", minimum), ("maximum", maximum)] {
        if let Some(bound) = bound {
            members.entry(name).or_insert(Value::Number(bound));
        }
    }
}

/// Returns the minimum and maximum of a type, as far as they are sent. Returns `None` for other formats.
fn bounds(format: &str) -> Option<(Option<Number>, Option<Number>)> {
    let integers = |min: i64, max: u64| Some((Some(min.into()), Some(max.into())));
    match format {
        "int8" => integers(i8::MIN.into(), i8::MAX as u64),
        "int16" => integers(i16::MIN.into(), i16::MAX as u64),
        "int32" => integers(i32::MIN.into(), i32::MAX as u64),
        "uint8" => integers(0, u8::MAX.into()),
        "uint16" => integers(0, u16::MAX.into()),
        "uint32" => integers(0, u32::MAX.into()),
        "uint64" | "uint" | "uint128" => Some((Some(0.into()), None)),
        "int64" | "int" | "int128" | "float" | "double" => Some((None, None)),
        _ => None,
    }
}
