//! The indices, and what is found by them.

use super::RedisChatMemoryStore;
use super::scripts::{PRUNE, REMOVE};
use ai_services_core::memory::MemoryId;
use ai_services_core::store_kit::time;
use ai_services_core::{Error, ErrorKind, Result};
use std::sync::atomic::Ordering;

/// How many conversations are deleted or forgotten in one step.
const BATCH: usize = 100;

/// How many commits there are between two looks for conversations that have expired.
const SWEEP_INTERVAL: u32 = 64;

impl RedisChatMemoryStore {
    /// Ids from the index, also of conversations that have expired.
    pub(super) async fn ids(
        &self,
        after: Option<&MemoryId>,
        limit: usize,
    ) -> Result<Vec<MemoryId>> {
        let after = after.map_or("-".to_owned(), |after| format!("({after}"));
        let mut pipeline = redis::pipe();
        let command = pipeline.cmd("ZRANGEBYLEX").arg(&self.0.keys.ids).arg(after).arg("+");
        command.arg("LIMIT").arg(0).arg(limit);
        let ask = self.0.connections.ask("list conversations", pipeline);
        let (ids,): (Vec<Vec<u8>>,) = ask.await?;
        readable(&ids)
    }

    /// Some of the conversations that were last changed before a time, also expired ones.
    pub(super) async fn unused_since(&self, before: i64) -> Result<Vec<MemoryId>> {
        let mut pipeline = redis::pipe();
        let command = pipeline.cmd("ZRANGEBYSCORE").arg(&self.0.keys.used).arg("-inf");
        command.arg(format!("({before}")).arg("LIMIT").arg(0).arg(BATCH);
        let ask = self.0.connections.ask("look for old conversations", pipeline);
        let (ids,): (Vec<Vec<u8>>,) = ask.await?;
        readable(&ids)
    }

    /// After some commits, takes a few expired conversations out of the indices: the server lets keys
    /// expire, but not what is said about them elsewhere.
    pub(super) async fn sweep(&self) {
        let Some(time_to_live) = self.0.time_to_live else { return };
        let commits = self.0.commits.fetch_add(1, Ordering::Relaxed);
        if commits % SWEEP_INTERVAL != SWEEP_INTERVAL - 1 {
            return;
        }
        let before = time::now().saturating_sub_unsigned(time_to_live);
        let swept = async { self.prune(&self.unused_since(before).await?).await };
        // The commit was made; the next sweep tries again.
        if let Err(error) = swept.await {
            tracing::debug!(%error, "expired conversations could not be taken out of the index");
        }
    }

    /// Takes those out of the indices of which nothing is left.
    pub(super) async fn prune(&self, ids: &[MemoryId]) -> Result<()> {
        if ids.is_empty() {
            return Ok(());
        }
        let mut script = PRUNE.prepare_invoke();
        script.key(&self.0.keys.ids).key(&self.0.keys.used);
        for id in ids {
            let keys = self.0.keys.of(id);
            script.key(keys.head).key(keys.messages).key(keys.history).arg(id.as_str());
        }
        let _: u64 = self.0.connections.ask("forget expired conversations", script).await?;
        Ok(())
    }

    /// Removes conversations, or those that were last changed before a time.
    pub(super) async fn remove(&self, ids: &[MemoryId], before: Option<i64>) -> Result<u64> {
        let mut script = REMOVE.prepare_invoke();
        script.key(&self.0.keys.ids).key(&self.0.keys.used);
        script.arg(before.map(|before| before.to_string()).unwrap_or_default());
        for id in ids {
            let keys = self.0.keys.of(id);
            script.key(keys.head).key(keys.messages).key(keys.history).key(keys.lease);
            script.arg(id.as_str());
        }
        self.0.connections.ask("delete conversations", script).await
    }
}

/// The ids of an index. This store writes only text.
fn readable(ids: &[Vec<u8>]) -> Result<Vec<MemoryId>> {
    let text = |id: &Vec<u8>| {
        let id = std::str::from_utf8(id).map_err(|source| {
            let message = "an index of conversations holds an id that is not text; the database was \
                           changed by something else";
            Error::new(ErrorKind::Store, message).with_source(source)
        })?;
        Ok(MemoryId::from(id))
    };
    ids.iter().map(text).collect()
}
