//! Replaces the formats of Rust's number types by numeric bounds.

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

/// Returns the minimum and maximum of a type, unless they are the limits of JSON numbers.
fn bounds(format: &str) -> Option<(Option<Number>, Option<Number>)> {
    let integers = |min: i64, max: u64| Some((Some(min.into()), Some(max.into())));
    match format {
        "int8" => integers(i8::MIN.into(), i8::MAX as u64),
        "int16" => integers(i16::MIN.into(), i16::MAX as u64),
        "int32" => integers(i32::MIN.into(), i32::MAX as u64),
        "int64" | "int" => integers(i64::MIN, i64::MAX as u64),
        "uint8" => integers(0, u8::MAX.into()),
        "uint16" => integers(0, u16::MAX.into()),
        "uint32" => integers(0, u32::MAX.into()),
        "uint64" | "uint" => integers(0, u64::MAX),
        // `serde_json` has no 128-bit integers by default. The bounds are floats within the types' range.
        "int128" => floats(i128::MIN as f64, 1.701_411_834_604_692_1e38),
        "uint128" => floats(0.0, 3.402_823_669_209_384_3e38),
        "float" => floats(f32::MIN.into(), f32::MAX.into()),
        "double" => Some((None, None)),
        _ => None,
    }
}

fn floats(min: f64, max: f64) -> Option<(Option<Number>, Option<Number>)> {
    Some((Number::from_f64(min), Number::from_f64(max)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_of_128_bit_integers_are_in_range() {
        let as_float = |bound: Option<Number>| bound.and_then(|bound| bound.as_f64());
        let (min, max) = bounds("int128").expect("a known format");
        assert_eq!(as_float(min).map(|min| min as i128), Some(i128::MIN));
        assert!(as_float(max).is_some_and(|max| (max as i128) < i128::MAX));
        let (_, max) = bounds("uint128").expect("a known format");
        assert!(as_float(max).is_some_and(|max| (max as u128) < u128::MAX));
    }
}
