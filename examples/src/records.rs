//! Listing and export of stored conversations.

use crate::render::plain;
use ai_services::memory::{
    Conversation, ConversationStore, HistoryEntry, HistoryPosition, MemoryId,
};
use ai_services::message::ChatMessage;
use anyhow::ensure;
use jiff::{Timestamp, Unit};
use serde::Serialize;
use std::io::{self, Write};

/// Number of conversations or messages per read.
const PAGE_SIZE: usize = 200;

/// Returns all stored conversations, sorted by id.
pub(crate) async fn conversations(
    store: &dyn ConversationStore,
) -> ai_services::Result<Vec<Conversation>> {
    let mut all: Vec<Conversation> = Vec::new();
    loop {
        let page = store.conversations(all.last().map(|last| &last.id), PAGE_SIZE).await?;
        if page.is_empty() {
            all.sort_by(|a, b| a.id.cmp(&b.id));
            return Ok(all);
        }
        all.extend(page);
    }
}

/// Prints one user per line: name, number of messages in the window, last use.
pub(crate) async fn list(store: &dyn ConversationStore) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    for Conversation { id, messages, last_updated, .. } in conversations(store).await? {
        let last_updated = Timestamp::try_from(last_updated)?.round(Unit::Second)?;
        writeln!(out, "{}\t{messages} messages\t{last_updated}", plain(id.as_str()))?;
    }
    Ok(out.flush()?)
}

/// One line of an export.
#[derive(Serialize)]
struct ExportLine<'a> {
    position: u64,
    /// `true` if the message is not sent to a model anymore.
    evicted: bool,
    message: &'a ChatMessage,
}

/// Prints all stored messages of a user, one JSON object per line.
pub(crate) async fn export(store: &dyn ConversationStore, user: &str) -> anyhow::Result<()> {
    let entries = history(store, user).await?;
    ensure!(!entries.is_empty(), "no messages stored for {user}");
    let mut out = io::stdout().lock();
    for HistoryEntry { position, message, is_evicted, .. } in &entries {
        let line = ExportLine { position: *position, evicted: *is_evicted, message };
        serde_json::to_writer(&mut out, &line)?;
        writeln!(out)?;
    }
    Ok(out.flush()?)
}

/// Returns all stored messages of a user.
pub(crate) async fn history(
    store: &dyn ConversationStore,
    user: &str,
) -> ai_services::Result<Vec<HistoryEntry>> {
    let id = MemoryId::from(user);
    let (mut all, mut position) = (Vec::new(), HistoryPosition::Oldest);
    loop {
        let page = store.history(&id, position, PAGE_SIZE).await?;
        let Some(last) = page.last() else { return Ok(all) };
        position = HistoryPosition::After(last.position);
        all.extend(page);
    }
}
