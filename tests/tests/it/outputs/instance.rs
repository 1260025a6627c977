//! Generates values that match a schema.

use super::schema::target;
use serde_json::{Map, Value, json};

/// A deterministic random number generator.
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed | 1)
    }

    /// Returns a number below `sides`.
    fn throw(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as usize % sides
    }

    fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.throw(items.len())]
    }
}

/// Returns a value that matches the schema. At a great depth, returns the smallest one.
pub(super) fn instance(schema: &Value, root: &Value, dice: &mut Dice, depth: usize) -> Value {
    let Value::Object(members) = schema else { return json!(["anything", 1, null]) };
    if let Some(reference) = members.get("$ref") {
        return instance(target(reference, root), root, dice, depth + 1);
    }
    if let Some(Value::Array(choices)) = members.get("anyOf") {
        // The shortest choice ends a recursion.
        let choice = if depth > 6 {
            choices.iter().min_by_key(|choice| choice.to_string().len()).unwrap()
        } else {
            dice.pick(choices)
        };
        return instance(choice, root, dice, depth + 1);
    }
    if let Some(value) = members.get("const") {
        return value.clone();
    }
    if let Some(Value::Array(values)) = members.get("enum") {
        return dice.pick(values).clone();
    }
    let kind = match members.get("type") {
        Some(Value::Array(kinds)) => dice.pick(kinds).as_str().unwrap(),
        kind => kind.and_then(Value::as_str).unwrap_or("null"),
    };
    match kind {
        "null" => Value::Null,
        "boolean" => json!(dice.throw(2) == 0),
        "integer" => integer(members, dice),
        "number" => json!(dice.throw(1000) as f64 / 8.0 - 50.0),
        "string" => text(members, dice),
        "array" => list(members, root, dice, depth),
        "object" => object(members, root, dice, depth),
        other => panic!("unknown type {other}"),
    }
}

fn integer(members: &Map<String, Value>, dice: &mut Dice) -> Value {
    let bounds = [members.get("minimum"), members.get("maximum")];
    let small = json!(dice.throw(100) + 1);
    let choices: Vec<&Value> = bounds.into_iter().flatten().chain([&small]).collect();
    (*dice.pick(&choices)).clone()
}

fn text(members: &Map<String, Value>, dice: &mut Dice) -> Value {
    let day = format!("20{:02}-02-{:02}", dice.throw(100), dice.throw(28) + 1);
    let time = format!("{:02}:{:02}:{:02}", dice.throw(24), dice.throw(60), dice.throw(60));
    let text = match members.get("format").and_then(Value::as_str) {
        Some("date") => day,
        Some("partial-time") => time,
        Some("partial-date-time") => format!("{day}T{time}"),
        Some("date-time") => format!("{day}T{time}Z"),
        Some("uuid") => {
            format!("{:08x}-0000-4000-8000-{:012x}", dice.throw(9999), dice.throw(9999))
        }
        Some(other) => panic!("unknown format {other}"),
        None if members.contains_key("maxLength") => {
            (*dice.pick(&["a", "ä", "\"", "😀"])).to_owned()
        }
        None => dice.pick(&["", "x", "two words", "}\"```\n", "ü😀", "true", "7"]).to_string(),
    };
    json!(text)
}

fn list(members: &Map<String, Value>, root: &Value, dice: &mut Dice, depth: usize) -> Value {
    if let Some(Value::Array(items)) = members.get("prefixItems") {
        return items.iter().map(|item| instance(item, root, dice, depth + 1)).collect();
    }
    let size = |name: &str| members.get(name).and_then(Value::as_u64).map(|size| size as usize);
    let preferred = if depth > 6 { 0 } else { dice.throw(4) };
    let count = preferred.clamp(size("minItems").unwrap_or(0), size("maxItems").unwrap_or(9));
    (0..count).map(|_| instance(&members["items"], root, dice, depth + 1)).collect()
}

fn object(members: &Map<String, Value>, root: &Value, dice: &mut Dice, depth: usize) -> Value {
    let mut object = Map::new();
    let required: Vec<&str> = match members.get("required") {
        Some(required) => required.as_array().unwrap().iter().flat_map(Value::as_str).collect(),
        None => Vec::new(),
    };
    for (name, member) in members.get("properties").and_then(Value::as_object).into_iter().flatten()
    {
        if required.contains(&name.as_str()) || (depth < 6 && dice.throw(2) == 0) {
            object.insert(name.clone(), instance(member, root, dice, depth + 1));
        }
    }
    let patterns = members.get("patternProperties").and_then(Value::as_object);
    for (_, member) in patterns.into_iter().flatten() {
        object.insert(dice.throw(99).to_string(), instance(member, root, dice, depth + 1));
    }
    match members.get("additionalProperties") {
        Some(Value::Bool(false)) => {}
        // Unknown members are accepted unless they are forbidden.
        None if depth > 0 => {
            object.insert("unknown-member".to_owned(), json!({ "any": [1, "thing"] }));
        }
        None => {}
        Some(member) => {
            object.insert("key".to_owned(), instance(member, root, dice, depth + 1));
        }
    }
    Value::Object(object)
}
