//! Deletion of conversations.
//!
//! The heads are deleted first, and their rows in a second statement: if the deletion of a head waits for a
//! commit or an append, only a later statement sees the rows that it has written. Before, the journals are
//! locked, because all writes lock the journal before the conversation.

use super::PostgresChatMemoryStore;
use super::error_mapping::{AttemptFailure, retry};
use ai_services_core::Result;
use ai_services_core::memory::MemoryId;
use ai_services_core::store_kit::failpoint::failpoint;
use std::collections::BTreeSet;

/// Number of heads that one statement reads, and the maximum that one transaction deletes.
const BATCH: i64 = 500;

type Key = Vec<u8>;

impl PostgresChatMemoryStore {
    pub(super) async fn delete_once(&self, id: &MemoryId) -> Result<(), AttemptFailure> {
        let mut connection = self.connect().await?;
        connection.begin().await?;
        connection.execute(&self.0.sql.journals.lock, &[&id.as_str().as_bytes()]).await?;
        let found = connection.query(&self.0.sql.delete_head, &[&id.as_str().as_bytes()]).await?;
        let keys = found.iter().map(|row| row.try_get("key")).collect::<Result<Vec<Key>, _>>()?;
        failpoint!("postgres.delete.head");
        connection.execute(&self.0.sql.delete_rows, &[&keys]).await?;
        connection.commit().await
    }

    /// Reads all heads of conversations and journals in the order of their keys, because an index on the last use
    /// would slow down every commit.
    pub(super) async fn delete_unused(&self, time: i64) -> Result<u64> {
        let (mut after, mut deleted) = (Key::new(), 0);
        loop {
            let (last, unused) = retry(|_| self.unused(&after, time)).await?;
            if !unused.is_empty() {
                deleted += retry(|_| self.delete_batch(&unused, time)).await?;
            }
            let Some(last) = last else { break };
            after = last;
        }
        retry(|_| self.delete_ended_leases()).await?;
        Ok(deleted)
    }

    /// Returns the last key of a page of heads, and the keys in it that were not written since this time.
    async fn unused(
        &self,
        after: &Key,
        time: i64,
    ) -> Result<(Option<Key>, Vec<Key>), AttemptFailure> {
        let mut connection = self.connect().await?;
        let found = connection.query(&self.0.sql.last_uses, &[after, &time, &BATCH]).await?;
        let last = found.last().map(|row| row.try_get("key")).transpose()?;
        let mut unused = Vec::new();
        for row in &found {
            if row.try_get("is_unused")? {
                unused.push(row.try_get("key")?);
            }
        }
        Ok((last, unused))
    }

    async fn delete_batch(&self, keys: &Vec<Key>, time: i64) -> Result<u64, AttemptFailure> {
        let mut connection = self.connect().await?;
        connection.begin().await?;
        let sql = &self.0.sql;
        connection.execute(&sql.journals.lock_all, &[keys]).await?;
        // The journals last, so that a conversation that was written in the meantime keeps its journal.
        let mut gone = BTreeSet::new();
        for statement in [&sql.delete_unused_heads, &sql.delete_unused_journals] {
            for row in connection.query(statement, &[keys, &time]).await? {
                gone.insert(row.try_get::<_, Key>("key")?);
            }
        }
        let keys: Vec<Key> = gone.into_iter().collect();
        failpoint!("postgres.delete.heads");
        connection.execute(&self.0.sql.delete_rows, &[&keys]).await?;
        connection.commit().await?;
        Ok(keys.len() as u64)
    }

    async fn delete_ended_leases(&self) -> Result<(), AttemptFailure> {
        self.connect().await?.execute(&self.0.sql.delete_ended_leases, &[]).await?;
        Ok(())
    }
}
