//! Conversations and their memories.

use super::open_turn::{OpenTurn, open_turn};
use super::{ApiState, Problem, json_response};
use ai_services_core::Result;
use ai_services_core::memory::{
    ApproximateCounter, ConversationStore, MemoryId, TokenCountEstimator,
};
use ai_services_core::message::ChatMessage;
use axum::extract::{Path, State};
use axum::response::Response;
use serde::Serialize;
use std::time::{SystemTime, UNIX_EPOCH};

/// Largest number of conversations that are listed.
const MAX_LISTED: usize = 1_000;

#[derive(Serialize)]
struct ListedConversation {
    id: String,
    /// `None` without a store.
    messages: Option<u64>,
    /// Time of the last write, in milliseconds since 1970.
    updated_ms: u64,
    /// `true` if a turn of the conversation is open.
    is_open: bool,
}

/// Lists conversations: those of the store, else those of the turns.
pub(super) async fn list(State(state): State<ApiState>) -> Result<Response, Problem> {
    let mut conversations = match state.store() {
        Ok(store) => stored(store).await?,
        Err(_) => seen(&state),
    };
    conversations.sort_by_key(|conversation| std::cmp::Reverse(conversation.updated_ms));
    Ok(json_response(&conversations))
}

async fn stored(store: &dyn ConversationStore) -> Result<Vec<ListedConversation>> {
    let page = store.conversations(None, MAX_LISTED).await?;
    let listed = page.into_iter().map(|conversation| ListedConversation {
        id: conversation.id.to_string(),
        messages: Some(conversation.messages),
        updated_ms: milliseconds(conversation.last_updated),
        is_open: false,
    });
    let mut listed: Vec<_> = listed.collect();
    let Some(journals) = store.journals() else { return Ok(listed) };
    for open in journals.open_journals(None, MAX_LISTED).await? {
        let updated_ms = milliseconds(open.last_updated);
        match listed.iter_mut().find(|known| known.id == open.id.as_str()) {
            Some(known) => (known.is_open, known.updated_ms) = (true, updated_ms),
            // The first turn of the conversation.
            None => listed.push(ListedConversation {
                id: open.id.to_string(),
                messages: Some(0),
                updated_ms,
                is_open: true,
            }),
        }
    }
    Ok(listed)
}

fn seen(state: &ApiState) -> Vec<ListedConversation> {
    let mut seen: Vec<ListedConversation> = Vec::new();
    for turn in state.log().turns() {
        let Some(id) = turn.record.memory_id.as_deref() else { continue };
        if !seen.iter().any(|known| known.id == id) {
            let updated_ms = turn.record.started_ms;
            let (id, is_open) = (id.to_owned(), false);
            seen.push(ListedConversation { id, messages: None, updated_ms, is_open });
        }
    }
    seen
}

#[derive(Serialize)]
struct Memory {
    id: String,
    version: Option<u64>,
    open_turn: Option<OpenTurn>,
    messages: Vec<MemoryMessage>,
    /// Estimated tokens of all messages.
    tokens: usize,
}

#[derive(Serialize)]
struct MemoryMessage {
    message: ChatMessage,
    tokens: usize,
}

/// Returns the messages of a conversation as the store has them, with estimated token counts.
pub(super) async fn memory(
    State(state): State<ApiState>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let (store, memory_id) = (state.store()?, MemoryId::from(id.as_str()));
    let snapshot = store.load(&memory_id).await?;
    let mut messages = Vec::with_capacity(snapshot.messages().len());
    for message in snapshot.messages().iter() {
        let tokens = ApproximateCounter.count_message(message)?;
        messages.push(MemoryMessage { message: message.clone(), tokens });
    }
    let tokens = messages.iter().map(|message| message.tokens).sum();
    let open_turn = match snapshot.journal() {
        Some(_) => open_turn(&state, store, &memory_id).await?,
        None => None,
    };
    let version = snapshot.version();
    Ok(json_response(&Memory { id, version, open_turn, messages, tokens }))
}

fn milliseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
