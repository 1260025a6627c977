//! Names of schemas and types.

use serde_json::Value;

/// Maximum length of a schema name. Providers reject longer names.
const MAX_LENGTH: usize = 64;

/// Returns the schema name of a type whose `JsonSchema` name is `own`: `Person`, `List_of_Person`,
/// `integer`.
pub(super) fn of(own: &str, schema: &Value) -> Box<str> {
    match schema.get("type").and_then(Value::as_str) {
        Some(scalar @ ("integer" | "number" | "boolean")) => return scalar.into(),
        _ if own.is_empty() => return "answer".into(),
        _ => {}
    }
    let mut name = String::new();
    for word in own.split('_') {
        if !name.is_empty() {
            name.push('_');
        }
        name.push_str(generic_name(word));
    }
    // All allowed characters are ASCII, so the limit also holds for bytes.
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    name.chars().map(|c| if allowed(c) { c } else { '_' }).take(MAX_LENGTH).collect()
}

/// Returns the name of a type without the paths: `Option<String>`.
pub(super) fn of_type(name: &str) -> Box<str> {
    let is_in_path = |c: char| c.is_alphanumeric() || matches!(c, '_' | ':');
    let paths = name.split_inclusive(|c| !is_in_path(c));
    paths.filter_map(|path| path.rsplit("::").next()).collect::<String>().into()
}

/// Replaces a Rust type name by a name that does not depend on the language.
fn generic_name(word: &str) -> &str {
    match word {
        "Array" => "List",
        "string" => "String",
        "boolean" => "Boolean",
        "float" => "Float",
        "double" => "Double",
        "int" | "int8" | "int16" | "int32" | "int64" | "int128" | "uint" | "uint8" | "uint16"
        | "uint32" | "uint64" | "uint128" => "Integer",
        word => word,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_match_the_reference_implementation() {
        let array = json!({ "type": "array" });
        assert_eq!(&*of("Array_of_int32", &array), "List_of_Integer");
        assert_eq!(&*of("Set_of_string", &array), "Set_of_String");
        assert_eq!(&*of("uint8", &json!({ "type": "integer" })), "integer");
        assert_eq!(&*of("Person", &json!({ "type": "object" })), "Person");
    }

    #[test]
    fn type_names_have_no_paths() {
        for (name, short) in [
            ("core::option::Option<alloc::string::String>", "Option<String>"),
            ("(u8, alloc::vec::Vec<my_app::Person>)", "(u8, Vec<Person>)"),
            ("[my::T; 2]", "[T; 2]"),
            ("bool", "bool"),
        ] {
            assert_eq!(&*of_type(name), short);
        }
    }

    #[test]
    fn names_are_accepted_by_providers() {
        let object = json!({ "type": "object" });
        assert_eq!(&*of("Page<Größe>", &object), "Page_Gr__e_");
        assert_eq!(of(&"x".repeat(100), &object).len(), MAX_LENGTH);
        assert_eq!(&*of("", &object), "answer");
    }
}
