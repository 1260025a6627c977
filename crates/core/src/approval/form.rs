//! Checks of the values of a form against its schema.

use serde_json::{Map, Value};

/// Checks the values of a form against its schema: a JSON Schema of an object whose properties are texts, numbers,
/// booleans, choices, or lists of choices. Formats and patterns are not checked, because the server checks them.
///
/// # Errors
///
/// Returns the first reason for which the values do not match.
pub(super) fn check(schema: &Value, content: &Value) -> Result<(), String> {
    let Value::Object(values) = content else {
        return Err("the values of a form must be a JSON object".to_owned());
    };
    let no_fields = Map::new();
    let fields = schema.get("properties").and_then(Value::as_object).unwrap_or(&no_fields);
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    for name in required.filter_map(Value::as_str) {
        if !values.contains_key(name) {
            return Err(format!("the field `{name}` is missing"));
        }
    }
    for (name, value) in values {
        let Some(field) = fields.get(name) else {
            return Err(format!("the form has no field `{name}`"));
        };
        check_field(field, value).map_err(|expected| format!("the field `{name}` {expected}"))?;
    }
    Ok(())
}

/// Returns the expectation that a value violates.
fn check_field(field: &Value, value: &Value) -> Result<(), String> {
    check_choice(field, value)?;
    match field.get("type").and_then(Value::as_str) {
        Some("string") => check_text(field, value),
        Some(kind @ ("number" | "integer")) => check_number(field, value, kind == "integer"),
        Some("boolean") if !value.is_boolean() => Err("must be `true` or `false`".to_owned()),
        Some("array") => check_list(field, value),
        _ => Ok(()),
    }
}

fn check_text(field: &Value, value: &Value) -> Result<(), String> {
    let Value::String(text) = value else { return Err("must be a text".to_owned()) };
    check_size(field, ["minLength", "maxLength"], text.chars().count(), "characters")
}

fn check_number(field: &Value, value: &Value, is_integer: bool) -> Result<(), String> {
    let Some(number) = value.as_f64() else { return Err("must be a number".to_owned()) };
    // JSON Schema: 1.0 is an integer.
    if is_integer && number.fract() != 0.0 {
        return Err("must be an integer".to_owned());
    }
    let bound = |name: &str| field.get(name).and_then(Value::as_f64);
    match (bound("minimum"), bound("maximum")) {
        (Some(minimum), _) if number < minimum => Err(format!("must be at least {minimum}")),
        (_, Some(maximum)) if number > maximum => Err(format!("must be at most {maximum}")),
        _ => Ok(()),
    }
}

fn check_list(field: &Value, value: &Value) -> Result<(), String> {
    let Value::Array(chosen) = value else { return Err("must be a list".to_owned()) };
    check_size(field, ["minItems", "maxItems"], chosen.len(), "entries")?;
    let Some(choice) = field.get("items") else { return Ok(()) };
    chosen.iter().try_for_each(|value| check_field(choice, value))
}

fn check_size(field: &Value, [min, max]: [&str; 2], size: usize, unit: &str) -> Result<(), String> {
    let bound = |name: &str| field.get(name).and_then(Value::as_u64);
    let size = u64::try_from(size).unwrap_or(u64::MAX);
    match (bound(min), bound(max)) {
        (Some(min), _) if size < min => Err(format!("must have at least {min} {unit}")),
        (_, Some(max)) if size > max => Err(format!("must have at most {max} {unit}")),
        _ => Ok(()),
    }
}

/// Checks a value that must be one of several: by `enum`, or by a list of schemas with `const`.
fn check_choice(field: &Value, value: &Value) -> Result<(), String> {
    let list = |name: &str| field.get(name).and_then(Value::as_array);
    let is_listed = list("enum").is_none_or(|choices| choices.contains(value));
    let titled = list("oneOf").or_else(|| list("anyOf"));
    let mut titled = titled.into_iter().flatten().filter_map(|choice| choice.get("const"));
    let is_titled = titled.clone().next().is_none() || titled.any(|choice| choice == value);
    if is_listed && is_titled { Ok(()) } else { Err("must be one of its choices".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Returns the error of a form with one field `a`.
    fn error(field: &Value, value: &Value) -> Option<String> {
        let schema = json!({"type": "object", "properties": {"a": field}, "required": ["a"]});
        check(&schema, &json!({"a": value})).err()
    }

    #[test]
    fn values_that_match_are_accepted() {
        for (field, value) in [
            (json!({"type": "string", "minLength": 1, "maxLength": 2}), json!("é!")),
            (json!({"type": "integer", "minimum": 1}), json!(1.0)),
            (json!({"type": "number", "maximum": 1.5}), json!(1.5)),
            (json!({"type": "boolean"}), json!(false)),
            (json!({"type": "string", "enum": ["x", "y"]}), json!("y")),
            (json!({"type": "string", "oneOf": [{"const": "x", "title": "X"}]}), json!("x")),
            (
                json!({"type": "array", "maxItems": 2, "items": {"anyOf": [{"const": "x"}]}}),
                json!(["x", "x"]),
            ),
            (json!({"type": "string", "format": "email"}), json!("checked by the server")),
        ] {
            assert_eq!(error(&field, &value), None, "{field}");
        }
    }

    #[test]
    fn values_that_do_not_match_are_named() {
        for (field, value, expected) in [
            (json!({"type": "string"}), json!(7), "must be a text"),
            (json!({"type": "string", "minLength": 3}), json!("ab"), "at least 3 characters"),
            (json!({"type": "string", "maxLength": 1}), json!("ab"), "at most 1 characters"),
            (json!({"type": "integer"}), json!(1.5), "must be an integer"),
            (json!({"type": "number"}), json!("1"), "must be a number"),
            (json!({"type": "number", "minimum": 2}), json!(1), "at least 2"),
            (json!({"type": "number", "maximum": 2}), json!(3), "at most 2"),
            (json!({"type": "boolean"}), json!("yes"), "`true` or `false`"),
            (json!({"type": "string", "enum": ["x"]}), json!("y"), "one of its choices"),
            (json!({"oneOf": [{"const": "x"}]}), json!("y"), "one of its choices"),
            (json!({"type": "array"}), json!("x"), "must be a list"),
            (json!({"type": "array", "items": {"enum": ["x"]}}), json!(["y"]), "its choices"),
            (json!({"type": "array", "minItems": 1}), json!([]), "at least 1 entries"),
        ] {
            let error = error(&field, &value).unwrap_or_default();
            assert!(error.starts_with("the field `a` "), "{field}: {error}");
            assert!(error.contains(expected), "{field}: {error}");
        }
    }

    #[test]
    fn missing_and_unknown_fields_are_named() {
        let schema = json!({"properties": {"a": {"type": "string"}}, "required": ["a"]});
        assert_eq!(check(&schema, &json!({})).unwrap_err(), "the field `a` is missing");
        let error = check(&schema, &json!({"a": "x", "b": 1})).unwrap_err();
        assert_eq!(error, "the form has no field `b`");
        assert!(check(&schema, &json!("a")).unwrap_err().contains("JSON object"));
        // A schema of a hostile server: nothing is known about the fields.
        assert!(check(&json!(7), &json!({"a": 1})).is_err());
    }
}
