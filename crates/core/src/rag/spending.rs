//! Asking models on behalf of a turn, and what that costs.

use crate::error::{Error, Result};
use crate::invocation::TurnContext;
use crate::message::ChatMessage;
use crate::model::{ChatModel, ChatRequest, FailedAttempts, ModelUsage, TokenUsage};

/// The text that a model answers to a prompt, without blanks around it. Its cost goes to the turn's meter.
pub(super) async fn ask(
    model: &dyn ChatModel,
    prompt: String,
    turn: &TurnContext,
) -> Result<String> {
    let request = ChatRequest::new([ChatMessage::user(prompt)]);
    let response = settled(model.chat(&request).await, model.name(), turn)?;
    count(ModelUsage::of_response(&response, model.name()), turn);
    Ok(response.message.text().unwrap_or_default().trim().to_owned())
}

/// Moves what an error had cost to the turn's meter, under the name of the model that was asked: whoever
/// handles the error cannot know it.
pub(super) fn settled<T>(outcome: Result<T>, model: &str, turn: &TurnContext) -> Result<T> {
    outcome.map_err(|error| match error.detail::<FailedAttempts>() {
        // It names the models itself.
        Some(_) => error,
        None => {
            count(ModelUsage::of_error(&error, model), turn);
            error.with_usage(TokenUsage::default())
        }
    })
}

/// Counts what an error had cost that nobody will see.
pub(super) fn write_off(error: &Error, turn: &TurnContext) {
    count(ModelUsage::of_error(error, "unknown"), turn);
}

fn count(usages: Vec<ModelUsage>, turn: &TurnContext) {
    for ModelUsage { model, usage } in usages {
        turn.meter().add(&model, usage);
    }
}
