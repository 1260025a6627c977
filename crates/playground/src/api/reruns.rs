//! Repetition of a turn on a copy of its conversation.

use super::{ApiState, Problem, json_response};
use ai_services_core::Result;
use ai_services_core::memory::{Change, ConversationStore, MemoryId};
use ai_services_core::message::{ChatMessage, Messages};
use ai_services_core::record::TurnRecord;
use axum::extract::{Path, State};
use axum::response::Response;
use http::StatusCode;
use serde_json::json;

/// Largest number of copies of a conversation.
const MAX_COPIES: usize = 1_000;

/// Copies the conversation that a turn has seen to a new id. The original is not read afterwards: a turn under
/// the new id cannot change it.
pub(super) async fn fork(
    State(state): State<ApiState>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let turn = state.turn(&id)?;
    let Some(original) = turn.record.memory_id.as_deref() else {
        return Ok(json_response(&json!({ "memory_id": format!("playground~{id}") })));
    };
    let store = state.store()?;
    let messages = seen_history(&turn.record);
    // Without the suffix of an earlier copy.
    let base = original.rsplit_once('~').map_or(original, |(base, number)| {
        if number.bytes().all(|byte| byte.is_ascii_digit()) { base } else { original }
    });
    for number in 1..=MAX_COPIES {
        let copy = MemoryId::from(format!("{base}~{number}"));
        if create(store, &copy, &messages).await? {
            return Ok(json_response(&json!({ "memory_id": copy.as_str() })));
        }
    }
    Err(Problem::new(StatusCode::CONFLICT, "the conversation has too many copies"))
}

/// Writes the messages under a new id. Returns `false` if the id is taken.
async fn create(store: &dyn ConversationStore, id: &MemoryId, messages: &Messages) -> Result<bool> {
    if store.conversation(id).await?.is_some() {
        return Ok(false);
    }
    let snapshot = store.load(id).await?;
    match store.commit(id, Change::replace(snapshot.version(), messages.clone())).await {
        Ok(()) => Ok(true),
        // Another request was faster.
        Err(error) if error.is_retryable() => Ok(false),
        Err(error) => Err(error),
    }
}

/// Returns the history that the first request of a turn contained: without the system message of the method, and
/// without the user message of the turn itself.
fn seen_history(record: &TurnRecord) -> Messages {
    let sent = record.messages_of(0);
    let own = sent.iter().rposition(|message| message.is_user()).unwrap_or(0);
    let has_method_system = record.system_message.is_some();
    let history = sent.into_iter().take(own);
    let history = history.filter(|message| !(has_method_system && message.is_system()));
    history.cloned().collect::<Vec<ChatMessage>>().into()
}
