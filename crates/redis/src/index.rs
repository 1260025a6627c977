//! The indices of conversations, and operations that use them.

use super::RedisChatMemoryStore;
use super::scripts::{PRUNE, REMOVE};
use ai_services_core::memory::MemoryId;
use ai_services_core::store_kit::time;
use ai_services_core::{Error, ErrorKind, Result};
use std::sync::atomic::Ordering;

/// Maximum number of conversations that one script deletes or removes from the indices.
const BATCH: usize = 100;

/// Number of commits between two sweeps for expired conversations.
const SWEEP_INTERVAL: u32 = 64;

impl RedisChatMemoryStore {
    /// Returns a page of ids from an index, including expired conversations.
    pub(super) async fn indexed(
        &self,
        index: &str,
        after: Option<&MemoryId>,
        limit: usize,
    ) -> Result<Vec<MemoryId>> {
        let after = after.map_or("-".to_owned(), |after| format!("({after}"));
        let mut pipeline = redis::pipe();
        let command = pipeline.cmd("ZRANGEBYLEX").arg(index).arg(after).arg("+");
        command.arg("LIMIT").arg(0).arg(limit);
        let request = self.0.connections.request("list conversations", pipeline);
        let (ids,): (Vec<Vec<u8>>,) = request.await?;
        readable(&ids)
    }

    /// Returns at most 100 conversations that were last changed before a time, including expired ones.
    pub(super) async fn unused_since(&self, before: i64) -> Result<Vec<MemoryId>> {
        let mut pipeline = redis::pipe();
        let command = pipeline.cmd("ZRANGEBYSCORE").arg(&self.0.keys.used).arg("-inf");
        command.arg(format!("({before}")).arg("LIMIT").arg(0).arg(BATCH);
        let request = self.0.connections.request("look for old conversations", pipeline);
        let (ids,): (Vec<Vec<u8>>,) = request.await?;
        readable(&ids)
    }

    /// Removes up to 100 expired conversations from the indices, once every 64 commits. The server expires
    /// keys, but not members of the indices. Best effort.
    pub(super) async fn sweep(&self) {
        let Some(time_to_live) = self.0.time_to_live else { return };
        let commits = self.0.commits.fetch_add(1, Ordering::Relaxed);
        if commits % SWEEP_INTERVAL != SWEEP_INTERVAL - 1 {
            return;
        }
        let before = time::now().saturating_sub_unsigned(time_to_live);
        let swept = async { self.prune(&self.unused_since(before).await?).await };
        // The commit was applied; the next sweep retries.
        if let Err(error) = swept.await {
            tracing::debug!(%error, "cannot remove expired conversations from the index");
        }
    }

    /// Removes conversations without data, and journals that are not open, from the indices.
    pub(super) async fn prune(&self, ids: &[MemoryId]) -> Result<()> {
        if ids.is_empty() {
            return Ok(());
        }
        let mut script = PRUNE.prepare_invoke();
        script.key(&self.0.keys.ids).key(&self.0.keys.used).key(&self.0.keys.journals);
        for id in ids {
            let keys = self.0.keys.of(id);
            script.key(keys.head).key(keys.messages).key(keys.history).key(keys.journal);
            script.arg(id.as_str());
        }
        let _: u64 = self.0.connections.request("remove expired conversations", script).await?;
        Ok(())
    }

    /// Deletes conversations, or only those that were last changed before a time. Returns the number of
    /// deleted ones.
    pub(super) async fn remove(&self, ids: &[MemoryId], before: Option<i64>) -> Result<u64> {
        let mut script = REMOVE.prepare_invoke();
        script.key(&self.0.keys.ids).key(&self.0.keys.used).key(&self.0.keys.journals);
        script.arg(before.map(|before| before.to_string()).unwrap_or_default());
        for id in ids {
            let keys = self.0.keys.of(id);
            script.key(keys.head).key(keys.messages).key(keys.history).key(keys.lease);
            script.key(keys.journal).arg(id.as_str());
        }
        self.0.connections.request("delete conversations", script).await
    }
}

/// Converts members of an index to ids.
fn readable(ids: &[Vec<u8>]) -> Result<Vec<MemoryId>> {
    let text = |id: &Vec<u8>| {
        let id = std::str::from_utf8(id).map_err(|source| {
            let message = "an index of conversations contains an id that is not valid UTF-8; another \
                           program has changed the database";
            Error::new(ErrorKind::Store, message).with_source(source)
        })?;
        Ok(MemoryId::from(id))
    };
    ids.iter().map(text).collect()
}
