//! Forms for the user of a client, and their answers.

use ai_services_core::tool::ToolError;
use rmcp::model::{ElicitResult, ElicitationAction, ElicitationSchema};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Returns the schema of a form. Fails unless `T` is an object of texts, numbers, booleans, and enums without data.
pub(super) fn schema<T: JsonSchema>() -> Result<ElicitationSchema, ToolError> {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    let fields = schema.get_mut("properties").and_then(Value::as_object_mut);
    fields.into_iter().flatten().for_each(|(_, field)| remove_null(field));
    serde_json::from_value(schema).map_err(|error| {
        ToolError::fatal(format!(
            "`{}` cannot be a form: use an object of texts, numbers, booleans and enums without data ({error})",
            std::any::type_name::<T>()
        ))
    })
}

/// Removes `null` from the values of a field: a form leaves out a field that is not filled in.
fn remove_null(field: &mut Value) {
    let is_not_null =
        |value: &Value| !value.is_null() && value != "null" && value["type"] != "null";
    if let Some(choices) = field.get_mut("anyOf").and_then(Value::as_array_mut) {
        choices.retain(is_not_null);
        if let [only] = choices.as_mut_slice() {
            *field = only.take();
        }
    }
    let Some(members) = field.as_object_mut() else { return };
    for list in ["type", "enum"] {
        if let Some(values) = members.get_mut(list).and_then(Value::as_array_mut) {
            values.retain(is_not_null);
        }
    }
    if let Some([only]) = members.get("type").and_then(Value::as_array).map(Vec::as_slice) {
        let only = only.clone();
        members.insert("type".to_owned(), only);
    }
    members.retain(|name, value| name != "default" || !value.is_null());
}

/// Reads the answer to a form. `None` if it is not an answer of the form, `Some(None)` if the user did not accept it.
#[allow(clippy::option_option, reason = "an invalid answer is not a declined form")]
pub(super) fn read<T: DeserializeOwned>(answer: &Value) -> Option<Option<T>> {
    let answer: ElicitResult = serde_json::from_value(answer.clone()).ok()?;
    match answer.action {
        ElicitationAction::Accept => {
            serde_json::from_value(answer.content.unwrap_or_default()).ok().map(Some)
        }
        _ => Some(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;
    use serde_json::json;

    #[derive(Debug, Deserialize, JsonSchema, PartialEq)]
    #[serde(rename_all = "lowercase")]
    enum Speed {
        Fast,
        Slow,
    }

    #[derive(Debug, Deserialize, JsonSchema, PartialEq)]
    struct Delivery {
        /// The street.
        street: String,
        count: u32,
        speed: Speed,
        gift: Option<bool>,
        backup: Option<Speed>,
    }

    #[test]
    fn form_has_a_field_for_each_member() {
        let schema = serde_json::to_value(schema::<Delivery>().unwrap()).unwrap();
        assert_eq!(schema["properties"]["street"]["description"], "The street.");
        assert_eq!(schema["properties"]["count"]["type"], "integer");
        assert_eq!(schema["properties"]["speed"]["enum"], json!(["fast", "slow"]));
        assert_eq!(schema["properties"]["gift"], json!({ "type": "boolean" }));
        assert_eq!(schema["properties"]["backup"]["enum"], json!(["fast", "slow"]));
        assert_eq!(schema["required"], json!(["street", "count", "speed"]));
    }

    #[test]
    fn nested_objects_are_not_a_form() {
        #[derive(JsonSchema)]
        #[allow(dead_code, reason = "only the schema counts")]
        struct Nested {
            delivery: Delivery,
        }
        let error = schema::<Nested>().unwrap_err();
        assert!(error.to_string().contains("cannot be a form"), "{error}");
        assert!(schema::<String>().is_err());
    }

    #[test]
    fn answer_is_read_if_it_is_accepted_and_valid() {
        let content = json!({ "street": "Main", "count": 2, "speed": "slow" });
        let read = |answer: Value| read::<Delivery>(&answer);
        let expected = Delivery {
            street: "Main".into(),
            count: 2,
            speed: Speed::Slow,
            gift: None,
            backup: None,
        };
        let accepted = json!({ "action": "accept", "content": content });
        assert_eq!(read(accepted), Some(Some(expected)));
        assert_eq!(read(json!({ "action": "decline" })), Some(None));
        assert_eq!(read(json!({ "action": "cancel" })), Some(None));
        for invalid in
            [json!(7), json!(null), json!({}), json!({ "action": "accept", "content": {} })]
        {
            assert_eq!(read(invalid.clone()), None, "{invalid}");
        }
    }
}
