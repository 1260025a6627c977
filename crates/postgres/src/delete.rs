//! Deleting conversations.
//!
//! Heads first, then, in a second statement, what belonged to them: a commit that the deletion of the
//! head had to wait for has written rows that only a later statement sees.

use super::PostgresChatMemoryStore;
use super::fault::{Fault, retried};
use ai_services_core::Result;
use ai_services_core::memory::MemoryId;
use ai_services_core::store_kit::failpoint::failpoint;

/// How many heads are looked at, and at most deleted, at a time.
const BATCH: i64 = 500;

type Key = Vec<u8>;

impl PostgresChatMemoryStore {
    pub(super) async fn delete_once(&self, id: &MemoryId) -> Result<(), Fault> {
        let mut connection = self.connect().await?;
        connection.begin().await?;
        let found = connection.query(&self.0.sql.delete_head, &[&id.as_str().as_bytes()]).await?;
        let keys = found.iter().map(|row| row.try_get("key")).collect::<Result<Vec<Key>, _>>()?;
        failpoint!("postgres.delete.head");
        connection.execute(&self.0.sql.delete_rows, &[&keys]).await?;
        connection.commit().await
    }

    /// Walks through all heads in the order of their keys: an index on their last use would make
    /// every commit dearer.
    pub(super) async fn delete_unused(&self, time: i64) -> Result<u64> {
        let (mut after, mut deleted) = (Key::new(), 0);
        loop {
            let (last, unused) = retried(|_| self.unused(&after, time)).await?;
            if !unused.is_empty() {
                deleted += retried(|_| self.delete_batch(&unused, time)).await?;
            }
            let Some(last) = last else { break };
            after = last;
        }
        retried(|_| self.delete_ended_leases()).await?;
        Ok(deleted)
    }

    /// The last key of a page, and which of the page are unused.
    async fn unused(&self, after: &Key, time: i64) -> Result<(Option<Key>, Vec<Key>), Fault> {
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

    async fn delete_batch(&self, keys: &Vec<Key>, time: i64) -> Result<u64, Fault> {
        let mut connection = self.connect().await?;
        connection.begin().await?;
        let found = connection.query(&self.0.sql.delete_unused_heads, &[keys, &time]).await?;
        let keys = found.iter().map(|row| row.try_get("key")).collect::<Result<Vec<Key>, _>>()?;
        failpoint!("postgres.delete.heads");
        connection.execute(&self.0.sql.delete_rows, &[&keys]).await?;
        connection.commit().await?;
        Ok(keys.len() as u64)
    }

    async fn delete_ended_leases(&self) -> Result<(), Fault> {
        self.connect().await?.execute(&self.0.sql.delete_ended_leases, &[]).await?;
        Ok(())
    }
}
