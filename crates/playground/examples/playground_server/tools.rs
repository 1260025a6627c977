//! The tools of the service: one that reads, one that needs approval, and three that ask the user.

use ai_services::approval::{Awaited, Elicitation, ElicitationKind, NextAttempt, Suspension};
use ai_services::model::ToolSpecification;
use ai_services::tool;
use ai_services::tool::{Tool, ToolError, ToolInput, ToolOutput};

/// Returns the state of an order.
#[tool(read_only)]
fn order(number: &str) -> String {
    format!(r#"{{"number":"{number}","item":"Pruning saw","state":"delivered","price":39.9}}"#)
}

/// Refunds an order.
#[tool(requires_approval)]
fn refund(number: &str) -> String {
    format!("order {number} is refunded")
}

pub(crate) fn all() -> Vec<Tool> {
    let form = ElicitationKind::Form { schema: delivery() };
    let odd = ElicitationKind::Form { schema: hostile() };
    let page = ElicitationKind::Url { url: "https://pay.example/1042".to_owned() };
    vec![
        order::tool(),
        refund::tool(),
        asking("deliver", "Delivers an order.", "Where shall the parcel go?", form),
        asking("pay", "Starts a payment.", "Please pay on this page.", page),
        asking("odd", "Asks for nonsense.", HOSTILE, odd),
    ]
}

/// A tool that asks the user, and returns the answers.
fn asking(
    name: &'static str,
    description: &'static str,
    question: &'static str,
    kind: ElicitationKind,
) -> Tool {
    let run = move |input: ToolInput| {
        let question = Elicitation::new("shop", question, kind.clone());
        async move {
            if let Some(continued) = input.continuation() {
                let answers = serde_json::to_string(&continued.answers);
                return Ok(ToolOutput::text(answers.unwrap_or_default()));
            }
            Err(ToolError::suspended(Suspension::Awaits(Awaited {
                elicitations: vec![question],
                state: serde_json::Value::Null,
                next: NextAttempt::Acts,
                not_before: 0,
            })))
        }
    };
    Tool::from_fn(ToolSpecification::new(name, description), run).suspending()
}

/// A message that would run a script, if it became HTML.
const HOSTILE: &str = "<img src=x onerror=\"window.pwned=1\"> [click](javascript:window.pwned=1) ![i](http://attacker.invalid/i)";

/// A schema that is not one.
fn hostile() -> serde_json::Value {
    serde_json::json!({
        "properties": {
            "a": null,
            "b": { "type": "string", "enum": 7 },
            "c": { "type": "array", "title": HOSTILE, "items": { "enum": [HOSTILE, null] } },
            "d": { "type": "integer", "minimum": {}, "default": [HOSTILE] },
            "__proto__": { "type": "string", "description": [HOSTILE] },
        },
        "required": 5,
    })
}

/// Every kind of field that a question can have.
fn delivery() -> serde_json::Value {
    serde_json::json!({
        "type": "object",
        "properties": {
            "name": { "type": "string", "title": "Name", "minLength": 2, "description": "As on the letter box." },
            "email": { "type": "string", "title": "E-mail", "format": "email" },
            "floor": { "type": "integer", "title": "Floor", "minimum": 0, "maximum": 40 },
            "weight": { "type": "number", "title": "Weight", "default": 1.5 },
            "speed": { "type": "string", "title": "Speed", "oneOf": [
                { "const": "std", "title": "Standard" }, { "const": "exp", "title": "Express" },
            ] },
            "size": { "type": "string", "title": "Size", "enum": ["S", "M", "L"] },
            "gift": { "type": "boolean", "title": "Gift", "default": false },
            "days": { "type": "array", "title": "Days", "items": { "enum": ["Mon", "Tue", "Wed"] } },
        },
        "required": ["name", "speed"],
    })
}
