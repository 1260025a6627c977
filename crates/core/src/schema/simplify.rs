//! Simplifies schemas to the keywords that models support.

use super::{bounds, choices, each_inner, merge, order};
use serde_json::{Map, Value};

/// Simplifies a schema and all schemas inside it. The accepted values stay the same, except that the
/// bounds of Rust's number types are added.
pub(super) fn simplify(root: &mut Value) {
    let definitions = match root.get("$defs") {
        Some(Value::Object(definitions)) => definitions.clone(),
        _ => Map::new(),
    };
    simplify_one(root, &definitions);
}

fn simplify_one(schema: &mut Value, definitions: &Map<String, Value>) {
    let Value::Object(members) = schema else { return };
    merge::resolve(members, definitions);
    each_inner(members, &mut |inner| simplify_one(inner, definitions));
    members.remove("title");
    members.remove("$schema");
    bounds::add(members);
    choices::one_of_to_any_of(members);
    choices::constants_to_enum(members);
    merge::all_of(members);
    close(members);
    merge::distribute(members);
    order::finish(members);
    if let Some(Value::Array(choices)) = members.get_mut("anyOf") {
        choices.iter_mut().filter_map(Value::as_object_mut).for_each(order::finish);
    }
}

/// Replaces `unevaluatedProperties`, which structs with flattened fields have, by the common
/// `additionalProperties`.
fn close(members: &mut Map<String, Value>) {
    if members.remove("unevaluatedProperties") == Some(Value::Bool(false)) {
        members.entry("additionalProperties").or_insert(Value::Bool(false));
    }
}

#[cfg(test)]
mod tests {
    use crate::schema::{JsonSchema, describe, plain};
    use serde::Deserialize;
    use serde_json::{Value, json};

    fn schema<T: JsonSchema>() -> Value {
        let described = describe::<T>();
        plain(described.schema, described.definitions).to_value()
    }

    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code, reason = "only the schema is used")]
    enum Mood {
        /// All is well.
        Happy,
        Sad,
    }

    #[derive(Deserialize, JsonSchema)]
    #[serde(tag = "kind")]
    #[allow(dead_code, reason = "only the schema is used")]
    enum Figure {
        Circle { radius: f64 },
        Square(Square),
    }

    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code, reason = "only the schema is used")]
    struct Square {
        side: f32,
    }

    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code, reason = "only the schema is used")]
    struct Drawn {
        by: String,
        #[serde(flatten)]
        figure: Figure,
    }

    #[test]
    fn described_variants_become_one_enum() {
        assert_eq!(
            schema::<Mood>(),
            json!({
                "type": "string", "enum": ["Sad", "Happy"], "description": "`Happy`: All is well.",
            })
        );
    }

    #[test]
    fn integers_have_bounds() {
        let bounds =
            |min: Value, max: Value| json!({ "type": "integer", "minimum": min, "maximum": max });
        assert_eq!(schema::<i8>(), bounds(json!(-128), json!(127)));
        assert_eq!(schema::<u32>(), bounds(json!(0), json!(u32::MAX)));
    }

    #[test]
    fn bounds_of_large_types_are_left_out() {
        let unsigned = json!({ "type": "integer", "minimum": 0 });
        assert_eq!(
            [schema::<u64>(), schema::<usize>(), schema::<u128>()],
            [(); 3].map(|()| unsigned.clone())
        );
        let signed = json!({ "type": "integer" });
        assert_eq!(
            [schema::<i64>(), schema::<isize>(), schema::<i128>()],
            [(); 3].map(|()| signed.clone())
        );
        let number = json!({ "type": "number" });
        assert_eq!([schema::<f32>(), schema::<f64>()], [(); 2].map(|()| number.clone()));
    }

    #[test]
    fn tagged_variants_are_complete_objects() {
        let figure = schema::<Figure>();
        let square = &figure["anyOf"][1];
        assert_eq!(square["required"], json!(["kind", "side"]));
        assert_eq!(square["properties"]["kind"], json!({ "type": "string", "const": "Square" }));
        assert!(square.get("$ref").is_none());
    }

    #[test]
    fn flattened_choices_are_complete_objects() {
        let drawn = schema::<Drawn>();
        assert!(drawn.get("properties").is_none());
        for (choice, own) in [(&drawn["anyOf"][0], "radius"), (&drawn["anyOf"][1], "side")] {
            assert_eq!(choice["required"], json!(["by", "kind", own]));
            assert_eq!(choice["properties"]["by"], json!({ "type": "string" }));
        }
    }
}
