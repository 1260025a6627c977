//! Tools of all effect classes, and the service that uses them.

use super::outside::{Happened, Line, Outside};
use ai_services::model::ToolSpecification;
use ai_services::schemars::json_schema;
use ai_services::tool::{CallState, Effect, Tool, ToolError, ToolInput, ToolOutput, Verifier};
use ai_services::{InvocationContext, Response, ai_service};
use std::sync::Arc;

/// An assistant that handles one order in each turn.
#[ai_service]
pub trait Till {
    /// Handles an order.
    async fn handle(
        &self,
        #[memory_id] customer: &str,
        #[user_message] order: &str,
    ) -> ai_services::Result<Response<String>>;

    /// Handles an order, with application data.
    async fn handle_as(
        &self,
        #[memory_id] customer: &str,
        #[user_message] order: &str,
        #[context] context: InvocationContext,
    ) -> ai_services::Result<Response<String>>;
}

/// The tools, in the order of their classes.
pub const TOOLS: [&str; 5] = ["look_up", "charge", "transfer", "mail", "note"];

/// Returns the tools.
pub fn tools(outside: &Arc<dyn Outside>) -> Vec<Tool> {
    let find = Arc::clone(outside);
    let verifier = Verifier::from_fn(move |call| {
        let outside = Arc::clone(&find);
        async move {
            let (order, key) = (order_of(&call)?, call.idempotency_key());
            let lines = outside.lines(&order).await;
            let is_own = |line: &Line| line.event == Happened::Transferred && line.key == key;
            Ok(match lines.iter().any(is_own) {
                true => CallState::Executed(ToolOutput::text("transferred")),
                // Nothing transfers twice with one key.
                false => CallState::NotExecuted,
            })
        }
    });
    vec![
        tool(outside, "look_up", None, Effect::ReadOnly),
        tool(outside, "charge", Some(Happened::Charged), Effect::Idempotent),
        tool(outside, "transfer", Some(Happened::Transferred), Effect::Verifiable(verifier)),
        tool(outside, "mail", Some(Happened::Mailed), Effect::AtMostOnce),
        tool(outside, "note", Some(Happened::Noted), Effect::AtMostOnce),
    ]
}

fn tool(
    outside: &Arc<dyn Outside>,
    name: &'static str,
    event: Option<Happened>,
    effect: Effect,
) -> Tool {
    let parameters = json_schema!({
        "type": "object",
        "properties": { "order": { "type": "string" } },
        "required": ["order"],
    });
    let specification = ToolSpecification::new(name, "Does it.").with_parameters(parameters);
    let outside = Arc::clone(outside);
    let run = move |call: ToolInput| {
        let outside = Arc::clone(&outside);
        async move {
            let order = order_of(&call)?;
            outside.point(&format!("before {name}")).await;
            if let Some(event) = event {
                outside.write(Line::new(&order, event, call.idempotency_key())).await;
            }
            outside.point(&format!("after {name}")).await;
            Ok(ToolOutput::text(result(name)))
        }
    };
    Tool::from_fn(specification, run).with_effect(effect)
}

/// Returns the result of a tool that took effect.
pub fn result(tool: &str) -> &'static str {
    match tool {
        "look_up" => "found",
        "charge" => "charged",
        "transfer" => "transferred",
        "mail" => "mailed",
        _ => "noted",
    }
}

fn order_of(call: &ToolInput) -> Result<String, ToolError> {
    let arguments: serde_json::Value = serde_json::from_str(call.call().arguments())
        .map_err(|error| ToolError::new(error.to_string()))?;
    Ok(arguments.get("order").and_then(|order| order.as_str()).unwrap_or_default().to_owned())
}
