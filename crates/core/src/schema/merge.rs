//! Merges composed schemas into one.

use super::order;
use serde_json::{Map, Value};

type Members = Map<String, Value>;

/// Replaces a reference by its definition if the schema has properties or choices of its own. Example:
/// the variant of a tagged enum that contains a struct.
pub(super) fn resolve(members: &mut Members, definitions: &Members) {
    if !members.contains_key("properties") && !members.contains_key("anyOf") {
        return;
    }
    let target = members.get("$ref").and_then(|reference| definition(reference, definitions));
    let Some(target) = target.and_then(Value::as_object) else { return };
    let mut own = members.clone();
    own.remove("$ref");
    if let Some(merged) = both(&own, target) {
        *members = merged;
    }
}

/// Returns the definition that a reference refers to.
pub(super) fn definition<'a>(reference: &Value, definitions: &'a Members) -> Option<&'a Value> {
    let name = reference.as_str()?.strip_prefix("#/$defs/")?;
    definitions.get(&decoded(name))
}

/// Removes the escapes of URLs and JSON pointers from the name of a definition.
fn decoded(name: &str) -> String {
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = after.get(..2).and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) if *first == b'%' => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).replace("~1", "/").replace("~0", "~")
}

/// Merges the parts of `allOf` into the schema if they are compatible.
pub(super) fn all_of(members: &mut Members) {
    let Some(Value::Array(parts)) = members.get("allOf") else { return };
    let mut merged = members.clone();
    merged.remove("allOf");
    for part in parts {
        let Some(next) = part.as_object().and_then(|part| both(&merged, part)) else { return };
        merged = next;
    }
    *members = merged;
}

/// Rewrites an object with its own members and a choice of further members to a choice of complete
/// objects.
pub(super) fn distribute(members: &mut Members) {
    let Some(Value::Array(choices)) = members.get("anyOf") else { return };
    let is_object = |schema: &Members| schema.contains_key("properties");
    let are_objects = choices.iter().all(|choice| choice.as_object().is_some_and(is_object));
    if !is_object(members) || !are_objects {
        return;
    }
    let mut own = members.clone();
    let kept = ["anyOf", "description", "$defs"].map(|name| own.remove_entry(name));
    let whole = choices.iter().map(|choice| {
        let mut merged = both(&own, choice.as_object()?)?;
        // A closed branch would reject the additional properties that the object allows.
        if own.get("additionalProperties").is_some_and(|more| more != false) {
            merged.insert("additionalProperties".to_owned(), Value::Bool(true));
        }
        Some(Value::Object(merged))
    });
    let Some(whole) = whole.collect::<Option<Vec<_>>>() else { return };
    *members = kept.into_iter().flatten().collect();
    members.insert("anyOf".to_owned(), Value::Array(whole));
}

/// Returns one schema with the requirements of both. Returns `None` if they are incompatible.
fn both(one: &Members, other: &Members) -> Option<Members> {
    let mut merged = one.clone();
    for (name, theirs) in other {
        let Some(own) = merged.get_mut(name) else {
            merged.insert(name.clone(), theirs.clone());
            continue;
        };
        match (name.as_str(), own, theirs) {
            ("properties", Value::Object(own), Value::Object(theirs)) => {
                for (name, schema) in theirs {
                    if own.insert(name.clone(), schema.clone()).is_some_and(|old| old != *schema) {
                        return None;
                    }
                }
            }
            ("required" | order::KEYWORD, Value::Array(own), Value::Array(theirs)) => {
                let more: Vec<_> =
                    theirs.iter().filter(|name| !own.contains(name)).cloned().collect();
                own.extend(more);
            }
            // The first one describes the whole.
            ("description" | "title" | "default" | "examples", ..) => {}
            (_, own, theirs) if own == theirs => {}
            _ => return None,
        }
    }
    Some(merged)
}
