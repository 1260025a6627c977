//! What a store knows, for people and for other programs.

use crate::render::plain;
use ai_services::memory::{
    Conversation, ConversationStore, HistoryEntry, HistoryPosition, MemoryId,
};
use ai_services::message::ChatMessage;
use anyhow::ensure;
use jiff::{Timestamp, Unit};
use serde::Serialize;
use std::io::{self, Write};

/// How many conversations or messages are read at a time.
const PAGE: usize = 200;

/// All conversations that are remembered.
pub(crate) async fn conversations(
    store: &dyn ConversationStore,
) -> ai_services::Result<Vec<Conversation>> {
    let mut all: Vec<Conversation> = Vec::new();
    loop {
        let page = store.conversations(all.last().map(|last| &last.id), PAGE).await?;
        if page.is_empty() {
            all.sort_by(|a, b| a.id.cmp(&b.id));
            return Ok(all);
        }
        all.extend(page);
    }
}

/// Prints one user a line: name, messages in memory, last use.
pub(crate) async fn list(store: &dyn ConversationStore) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    for Conversation { id, messages, last_used, .. } in conversations(store).await? {
        let last_used = Timestamp::try_from(last_used)?.round(Unit::Second)?;
        writeln!(out, "{}\t{messages} messages\t{last_used}", plain(id.as_str()))?;
    }
    Ok(out.flush()?)
}

/// One message of an export.
#[derive(Serialize)]
struct Line<'a> {
    position: u64,
    /// Whether a model is not reminded of the message any more.
    evicted: bool,
    message: &'a ChatMessage,
}

/// Prints everything that was said with a user, one JSON object a line.
pub(crate) async fn export(store: &dyn ConversationStore, user: &str) -> anyhow::Result<()> {
    let entries = history(store, user).await?;
    ensure!(!entries.is_empty(), "nothing is remembered of {user}");
    let mut out = io::stdout().lock();
    for HistoryEntry { position, message, is_evicted, .. } in &entries {
        let line = Line { position: *position, evicted: *is_evicted, message };
        serde_json::to_writer(&mut out, &line)?;
        writeln!(out)?;
    }
    Ok(out.flush()?)
}

/// Everything that was said with a user and is kept.
pub(crate) async fn history(
    store: &dyn ConversationStore,
    user: &str,
) -> ai_services::Result<Vec<HistoryEntry>> {
    let id = MemoryId::from(user);
    let (mut all, mut position) = (Vec::new(), HistoryPosition::Oldest);
    loop {
        let page = store.history(&id, position, PAGE).await?;
        let Some(last) = page.last() else { return Ok(all) };
        position = HistoryPosition::After(last.position);
        all.extend(page);
    }
}
