//! A validator for the subset of JSON Schema that outputs use.

use serde_json::{Map, Value};

/// Checks a value against a schema. The error describes the first mismatch.
pub(super) fn check(schema: &Value, value: &Value, root: &Value) -> Result<(), String> {
    let members = match schema {
        Value::Bool(true) => return Ok(()),
        Value::Object(members) => members,
        _ => return Err(format!("the schema allows no value, found {value}")),
    };
    for (name, constraint) in members {
        let holds = match name.as_str() {
            "$ref" => check(target(constraint, root), value, root).is_ok(),
            "anyOf" => each(constraint).iter().any(|choice| check(choice, value, root).is_ok()),
            "type" => match constraint {
                Value::Array(kinds) => kinds.iter().any(|kind| is(value, kind)),
                kind => is(value, kind),
            },
            "enum" => each(constraint).contains(value),
            "const" => constraint == value,
            "minimum" => number(value).is_none_or(|own| own >= number(constraint).unwrap()),
            "maximum" => number(value).is_none_or(|own| own <= number(constraint).unwrap()),
            "minLength" | "maxLength" => {
                value.as_str().is_none_or(|text| text.chars().count() == 1)
            }
            "minItems" => value.as_array().is_none_or(|own| own.len() >= size(constraint)),
            "maxItems" => value.as_array().is_none_or(|own| own.len() <= size(constraint)),
            "items" => items(value).iter().all(|item| check(constraint, item, root).is_ok()),
            "prefixItems" => {
                let mut pairs = each(constraint).iter().zip(items(value));
                pairs.all(|(item, own)| check(item, own, root).is_ok())
            }
            "required" => value.as_object().is_none_or(|own| {
                each(constraint).iter().all(|name| own.contains_key(name.as_str().unwrap()))
            }),
            "properties" | "additionalProperties" | "patternProperties" => {
                value.as_object().is_none_or(|own| has_valid_members(members, own, root))
            }
            // Does not restrict values, but must list each member exactly once.
            "propertyOrdering" => {
                let mut names: Vec<&Value> = constraint.as_array().into_iter().flatten().collect();
                names.sort_by_key(|name| name.as_str());
                let properties = members.get("properties").and_then(Value::as_object);
                properties.is_some_and(|properties| names.into_iter().eq(properties.keys()))
            }
            "format" | "description" | "uniqueItems" | "$defs" => true,
            other => return Err(format!("unknown keyword `{other}` in the schema: {schema}")),
        };
        if !holds {
            return Err(format!("{value} does not match {name} {constraint}"));
        }
    }
    Ok(())
}

fn has_valid_members(schema: &Map<String, Value>, own: &Map<String, Value>, root: &Value) -> bool {
    own.iter().all(|(name, value)| {
        if let Some(member) = schema.get("properties").and_then(|members| members.get(name)) {
            return check(member, value, root).is_ok();
        }
        let patterns = schema.get("patternProperties").and_then(Value::as_object);
        let matching = patterns.into_iter().flatten().find(|(pattern, _)| matches(pattern, name));
        match (matching, schema.get("additionalProperties")) {
            (Some((_, member)), _) => check(member, value, root).is_ok(),
            (None, Some(more)) => *more != false && check(more, value, root).is_ok(),
            (None, None) => true,
        }
    })
}

/// The two patterns that integer keys have.
fn matches(pattern: &str, name: &str) -> bool {
    let digits = match pattern {
        r"^\d+$" => name,
        r"^-?\d+$" => name.strip_prefix('-').unwrap_or(name),
        other => panic!("unknown pattern {other}"),
    };
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

pub(super) fn target<'a>(reference: &Value, root: &'a Value) -> &'a Value {
    &root["$defs"][reference.as_str().unwrap().strip_prefix("#/$defs/").unwrap()]
}

fn is(value: &Value, kind: &Value) -> bool {
    match kind.as_str().unwrap() {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.as_number().is_some_and(|n| !n.to_string().contains(['.'])),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("unknown type {other}"),
    }
}

fn number(value: &Value) -> Option<f64> {
    value.as_f64()
}

fn size(value: &Value) -> usize {
    value.as_u64().unwrap() as usize
}

fn each(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap()
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}
