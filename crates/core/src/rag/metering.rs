//! Model calls on behalf of a turn, recorded in its usage meter.

use crate::error::{Error, Result};
use crate::invocation::TurnContext;
use crate::message::ChatMessage;
use crate::model::{ChatModel, ChatRequest, FailedAttempts, ModelUsage, TokenUsage};
use crate::trace;

/// Sends a prompt to a model and returns the trimmed text of its answer. Adds the usage to the turn's meter.
pub(super) async fn prompt_model(
    model: &dyn ChatModel,
    prompt: String,
    turn: &TurnContext,
) -> Result<String> {
    let request = ChatRequest::new([ChatMessage::user(prompt)]);
    let response = meter_error(trace::chat(model, &request).await, model.name(), turn)?;
    add_to_meter(response.usage_by_model(model.name()), turn);
    Ok(response.message.text().unwrap_or_default().trim().to_owned())
}

/// Moves the usage of an error to the turn's meter, under the name of the model that was called. The handler
/// of the error does not know that name.
pub(super) fn meter_error<T>(outcome: Result<T>, model: &str, turn: &TurnContext) -> Result<T> {
    outcome.map_err(|error| match error.detail::<FailedAttempts>() {
        // This error names the models itself.
        Some(_) => error,
        None => {
            add_to_meter(ModelUsage::of_error(&error, model), turn);
            error.with_usage(TokenUsage::default())
        }
    })
}

/// Adds the usage of an error that is not returned to the turn's meter.
pub(super) fn meter_discarded_error(error: &Error, turn: &TurnContext) {
    add_to_meter(ModelUsage::of_error(error, "unknown"), turn);
}

fn add_to_meter(usages: Vec<ModelUsage>, turn: &TurnContext) {
    for ModelUsage { model, usage } in usages {
        turn.meter().add(&model, usage);
    }
}
