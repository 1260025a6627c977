//! Definitions of tools and prompts, as clients receive them.

use ai_services_core::schema::in_order;
use ai_services_core::tool::{Effect, Tool};
use ai_services_core::{Error, Result};
use rmcp::model::{self, JsonObject, ToolAnnotations};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Returns the definition of a tool. `output` is the schema of its answer, if it is declared.
pub(super) fn tool(tool: &Tool, output: Option<Arc<JsonObject>>) -> Result<model::Tool> {
    let description = tool.specification().description.to_string();
    let mut definition = model::Tool::new(tool.name().to_owned(), description, input_schema(tool)?)
        .with_title(title(tool.name()))
        .with_annotations(annotations(tool));
    definition.output_schema = output;
    Ok(definition)
}

/// Returns the definition of a prompt: a tool whose parameters are texts.
pub(super) fn prompt(tool: &Tool) -> Result<model::Prompt> {
    let arguments: Vec<_> = parameters(tool)?
        .into_iter()
        .map(|(name, parameter)| {
            let argument = model::PromptArgument::new(name).with_required(parameter.is_required);
            match parameter.description {
                Some(description) => argument.with_description(description),
                None => argument,
            }
        })
        .collect();
    let arguments = Some(arguments).filter(|arguments| !arguments.is_empty());
    let description = Some(tool.specification().description.to_string());
    Ok(model::Prompt::new(tool.name(), description, arguments).with_title(title(tool.name())))
}

/// A parameter of a tool, as its schema describes it.
pub(super) struct Parameter {
    pub(super) is_required: bool,
    description: Option<String>,
}

/// Returns the parameters of a tool, by name.
pub(super) fn parameters(tool: &Tool) -> Result<BTreeMap<String, Parameter>> {
    let schema = input_schema(tool)?;
    let list = |name: &str| schema.get(name).and_then(Value::as_array);
    let required: Vec<&str> =
        list("required").into_iter().flatten().filter_map(Value::as_str).collect();
    let properties = schema.get("properties").and_then(Value::as_object);
    let parameter = |(name, property): (&String, &Value)| {
        let description = property.get("description").and_then(Value::as_str).map(str::to_owned);
        let is_required = required.contains(&name.as_str());
        (name.clone(), Parameter { is_required, description })
    };
    Ok(properties.into_iter().flatten().map(parameter).collect())
}

fn input_schema(tool: &Tool) -> Result<JsonObject> {
    let schema = match &tool.specification().parameters {
        Some(schema) => serde_json::to_value(in_order(schema)),
        None => Ok(serde_json::json!({ "type": "object", "properties": {} })),
    };
    match schema {
        Ok(Value::Object(schema)) => Ok(schema),
        _ => Err(Error::configuration(format!(
            "the parameters of the tool `{}` are not described by a schema that is a JSON object",
            tool.name()
        ))),
    }
}

/// Returns the hints that follow from the effect of a tool. A tool is called idempotent only if calls with the same
/// arguments have the same idempotency key.
fn annotations(tool: &Tool) -> ToolAnnotations {
    let annotations = ToolAnnotations::new();
    match tool.effect() {
        Effect::ReadOnly => annotations.read_only(true),
        Effect::Idempotent => annotations.read_only(false).idempotent(tool.has_key_template()),
        Effect::Verifiable(_) | Effect::AtMostOnce => {
            annotations.read_only(false).idempotent(false)
        }
    }
}

/// Returns a title for user interfaces: `cancel_booking` becomes `Cancel booking`.
fn title(name: &str) -> String {
    let words = name.replace(['_', '-'], " ");
    let mut characters = words.trim().chars();
    characters
        .next()
        .map_or_else(|| name.to_owned(), |first| first.to_uppercase().chain(characters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ai_services_core::model::ToolSpecification;
    use ai_services_core::tool::ToolOutput;
    use schemars::json_schema;
    use serde_json::json;

    fn refund() -> Tool {
        let parameters = json_schema!({
            "type": "object",
            "properties": { "order": { "type": "string", "description": "The order." } },
            "required": ["order"],
        });
        let specification = ToolSpecification::new("refund_order", "Refunds an order.");
        Tool::from_fn(specification.with_parameters(parameters), |_call| async {
            Ok(ToolOutput::text("refunded"))
        })
    }

    fn annotations_of(tool: &Tool) -> Value {
        serde_json::to_value(super::tool(tool, None).unwrap().annotations).unwrap()
    }

    #[test]
    fn annotations_follow_the_effect() {
        let read_only = refund().with_effect(Effect::ReadOnly);
        assert_eq!(annotations_of(&read_only), json!({ "readOnlyHint": true }));
        let at_most_once = json!({ "readOnlyHint": false, "idempotentHint": false });
        assert_eq!(annotations_of(&refund()), at_most_once);
    }

    #[test]
    fn idempotent_tool_needs_a_key_of_its_arguments() {
        let idempotent = refund().with_effect(Effect::Idempotent);
        assert_eq!(annotations_of(&idempotent)["idempotentHint"], json!(false));
        let keyed = idempotent.with_key("refund-{{order}}").unwrap();
        assert_eq!(annotations_of(&keyed)["idempotentHint"], json!(true));
    }

    #[test]
    fn prompt_has_the_parameters_as_arguments() {
        assert_eq!(
            serde_json::to_value(prompt(&refund()).unwrap()).unwrap(),
            json!({
                "name": "refund_order",
                "title": "Refund order",
                "description": "Refunds an order.",
                "arguments": [{ "name": "order", "description": "The order.", "required": true }],
            })
        );
    }
}
