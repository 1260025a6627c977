//! Whether a value follows a schema: the part of JSON Schema that outputs use.

use serde_json::{Map, Value};

/// What is wrong, if something is.
pub(super) fn check(schema: &Value, value: &Value, root: &Value) -> Result<(), String> {
    let members = match schema {
        Value::Bool(true) => return Ok(()),
        Value::Object(members) => members,
        _ => return Err(format!("nothing is allowed in the place of {value}")),
    };
    for (name, demand) in members {
        let holds = match name.as_str() {
            "$ref" => check(target(demand, root), value, root).is_ok(),
            "anyOf" => each(demand).iter().any(|choice| check(choice, value, root).is_ok()),
            "type" => match demand {
                Value::Array(kinds) => kinds.iter().any(|kind| is(value, kind)),
                kind => is(value, kind),
            },
            "enum" => each(demand).contains(value),
            "const" => demand == value,
            "minimum" => number(value).is_none_or(|own| own >= number(demand).unwrap()),
            "maximum" => number(value).is_none_or(|own| own <= number(demand).unwrap()),
            "minLength" | "maxLength" => {
                value.as_str().is_none_or(|text| text.chars().count() == 1)
            }
            "minItems" => value.as_array().is_none_or(|own| own.len() >= size(demand)),
            "maxItems" => value.as_array().is_none_or(|own| own.len() <= size(demand)),
            "items" => items(value).iter().all(|item| check(demand, item, root).is_ok()),
            "prefixItems" => {
                let mut pairs = each(demand).iter().zip(items(value));
                pairs.all(|(item, own)| check(item, own, root).is_ok())
            }
            "required" => value.as_object().is_none_or(|own| {
                each(demand).iter().all(|name| own.contains_key(name.as_str().unwrap()))
            }),
            "properties" | "additionalProperties" | "patternProperties" => {
                value.as_object().is_none_or(|own| has_good_members(members, own, root))
            }
            // Says nothing about values, but must name each member once.
            "propertyOrdering" => {
                let mut names: Vec<&Value> = demand.as_array().into_iter().flatten().collect();
                names.sort_by_key(|name| name.as_str());
                let properties = members.get("properties").and_then(Value::as_object);
                properties.is_some_and(|properties| names.into_iter().eq(properties.keys()))
            }
            "format" | "description" | "uniqueItems" | "$defs" => true,
            other => return Err(format!("the schema says `{other}`: {schema}")),
        };
        if !holds {
            return Err(format!("{value} is not {name} {demand}"));
        }
    }
    Ok(())
}

fn has_good_members(schema: &Map<String, Value>, own: &Map<String, Value>, root: &Value) -> bool {
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
