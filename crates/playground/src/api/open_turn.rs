//! The open turn of a conversation.

use super::ApiState;
use ai_services_core::Result;
use ai_services_core::answer::OpenTurns;
use ai_services_core::memory::{ConversationStore, MemoryId, TurnJournal};
use ai_services_core::message::ChatMessage;
use serde::{Deserialize, Serialize};

/// The open turn of a conversation.
#[derive(Serialize)]
pub(super) struct OpenTurn {
    /// Text of the user message. `None` if the journal has another format.
    text: Option<String>,
    /// Names of the services that can go on with the turn once it is decided. Empty if it waits for no decision.
    services: Vec<String>,
}

/// Returns the open turn of a conversation, if it has one.
pub(super) async fn open_turn(
    state: &ApiState,
    store: &dyn ConversationStore,
    id: &MemoryId,
) -> Result<Option<OpenTurn>> {
    let Some(journals) = store.journals() else { return Ok(None) };
    let Some(journal) = journals.journal(id).await? else { return Ok(None) };
    Ok(Some(OpenTurn { text: user_text(&journal), services: services(state, id).await }))
}

/// Returns the services in which the turn waits. If one of them has begun the turn since the program started, only that
/// one: it has the model and the tools of the turn.
async fn services(state: &ApiState, id: &MemoryId) -> Vec<String> {
    let mut services = Vec::new();
    for turns in state.open_turns() {
        match turns.pending_turn(id).await {
            Ok(Some(_)) => services.push(turns.service().to_string()),
            Ok(None) => {}
            // For example a service without durable turns.
            Err(error) => tracing::debug!(%error, "an open turn cannot be read"),
        }
    }
    let began = state.log().turns().into_iter().find_map(|turn| {
        let is_own = turn.record.outer.is_none();
        let is_here = turn.record.memory_id.as_deref() == Some(id.as_str());
        turn.service.clone().filter(|_| is_own && is_here)
    });
    match began.and_then(|began| services.iter().position(|name| **name == *began)) {
        Some(position) => vec![services.swap_remove(position)],
        None => services,
    }
}

/// Returns the text of the user message, which the first record of a journal contains.
fn user_text(journal: &TurnJournal) -> Option<String> {
    #[derive(Deserialize)]
    struct Began {
        user: ChatMessage,
    }
    let began: Began = serde_json::from_str(journal.records.first()?).ok()?;
    began.user.text().map(str::to_owned)
}
