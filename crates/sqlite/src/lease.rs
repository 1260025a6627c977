//! Leases, stored in the head of a conversation.

use super::SqliteChatMemoryStore;
use super::error_mapping::TaskFailure;
use ai_services_core::Result;
use ai_services_core::memory::{ConversationLeases, LeaseOptions, LeaseToken, MemoryId};
use ai_services_core::store_kit::{limits, time};
use async_trait::async_trait;
use rusqlite::Connection;

#[async_trait]
impl ConversationLeases for SqliteChatMemoryStore {
    fn options(&self) -> LeaseOptions {
        self.lease_options().unwrap_or_default()
    }

    /// Expiry is measured by the clock of this machine, which all processes share. If the clock is set back, the
    /// leases that were acquired before count as expired.
    async fn acquire(&self, id: &MemoryId, token: LeaseToken) -> Result<bool> {
        limits::check_id(id)?;
        let duration = i64::try_from(self.options().duration.as_millis()).unwrap_or(i64::MAX);
        let owned = id.clone();
        self.write("acquire the lease of", Some(id), move |connection| {
            acquire(connection, &owned, token, duration)
        })
        .await
    }

    async fn release(&self, id: &MemoryId, token: LeaseToken) -> Result<()> {
        limits::check_id(id)?;
        let owned = id.clone();
        self.write("release the lease of", Some(id), move |connection| {
            release(connection, &owned, token)
        })
        .await
    }
}

fn acquire(
    connection: &Connection,
    id: &MemoryId,
    token: LeaseToken,
    duration: i64,
) -> Result<bool, TaskFailure> {
    let now = time::now();
    // A conversation without a commit gets a head with version 0.
    let mut statement = connection.prepare_cached(
        "INSERT INTO conversation (id, slot, version, messages, last_updated, commits, slots,
             lease_token, lease_since, lease_until)
         VALUES (?1, 0, 0, 0, ?2, x'', x'', ?3, ?2, ?4)
         ON CONFLICT (id, slot) DO UPDATE SET
             lease_token = excluded.lease_token, lease_since = excluded.lease_since,
             lease_until = excluded.lease_until
         WHERE lease_token IS NULL OR lease_token = excluded.lease_token
             OR lease_until IS NULL OR lease_until <= ?2
             OR lease_since IS NULL OR lease_since > ?2",
    )?;
    let token = token.get().cast_signed();
    Ok(statement.execute((id.as_str(), now, token, now.saturating_add(duration)))? == 1)
}

fn release(connection: &Connection, id: &MemoryId, token: LeaseToken) -> Result<(), TaskFailure> {
    for statement in [
        "DELETE FROM conversation
         WHERE id = ?1 AND slot = 0 AND lease_token = ?2 AND version = 0",
        "UPDATE conversation SET lease_token = NULL, lease_since = NULL, lease_until = NULL
         WHERE id = ?1 AND slot = 0 AND lease_token = ?2",
    ] {
        connection.prepare_cached(statement)?.execute((id.as_str(), token.get().cast_signed()))?;
    }
    Ok(())
}
