//! Listing, cleanup, histories and export of conversations.

use super::RedisChatMemoryStore;
use super::rows::{RawField, RawRow, corrupt_head, field, head};
use ai_services_core::Result;
use ai_services_core::memory::{
    Conversation, ConversationStore, HistoryEntry, HistoryPosition, MemoryId, RawRecord,
    UnreadableRecord,
};
use ai_services_core::store_kit::check_limit;
use ai_services_core::store_kit::time;
use async_trait::async_trait;
use redis::Pipeline;
use std::time::SystemTime;

/// Maximum number of conversations in one request.
const PAGE: usize = 500;

/// The fields of a head, and whether the conversation has a history.
type RawConversation = ((RawField, RawField, RawField), bool);

/// The fields of a hash.
type RawHash = Vec<(Vec<u8>, Vec<u8>)>;

#[async_trait]
impl ConversationStore for RedisChatMemoryStore {
    /// Returns conversations sorted by the bytes of their ids.
    async fn conversations(
        &self,
        after: Option<&MemoryId>,
        limit: usize,
    ) -> Result<Vec<Conversation>> {
        let limit = check_limit(limit)?;
        let mut after = after.cloned();
        let mut found = Vec::new();
        loop {
            let page_size = (limit - found.len()).min(PAGE);
            let ids = self.indexed(&self.0.keys.ids, after.as_ref(), page_size).await?;
            self.describe(&ids, &mut found).await?;
            if found.len() == limit || ids.len() < page_size {
                return Ok(found);
            }
            after = ids.into_iter().next_back();
        }
    }

    async fn conversation(&self, id: &MemoryId) -> Result<Option<Conversation>> {
        let mut pipeline = redis::pipe();
        self.add_head_query(id, &mut pipeline);
        let request = self.0.connections.request("read a conversation", pipeline);
        let described = described(id, &request.await?)?;
        Ok(described.filter(|(_, is_empty)| !is_empty).map(|(conversation, _)| conversation))
    }

    async fn delete_not_updated_since(&self, time: SystemTime) -> Result<u64> {
        let before = time::millis(time);
        let mut deleted = 0;
        loop {
            let ids = self.unused_since(before).await?;
            if ids.is_empty() {
                return Ok(deleted);
            }
            deleted += self.remove(&ids, Some(before)).await?;
        }
    }

    async fn history(
        &self,
        id: &MemoryId,
        position: HistoryPosition,
        limit: usize,
    ) -> Result<Vec<HistoryEntry>> {
        self.page(id, position, check_limit(limit)?).await
    }

    async fn export_raw(&self, id: &MemoryId) -> Result<Vec<RawRecord>> {
        let keys = self.0.keys.of(id);
        let read = self.read_consistently("export a conversation", id, |pipeline| {
            for key in [&keys.head, &keys.journal] {
                pipeline.cmd("HGETALL").arg(key);
            }
            for key in [&keys.history, &keys.messages] {
                pipeline.cmd("ZRANGE").arg(key).arg(0).arg(-1).arg("WITHSCORES");
            }
        });
        let (head, journal, history, messages): (RawHash, RawHash, Vec<RawRow>, Vec<RawRow>) =
            read.await?;
        let field = |hash| {
            move |(name, value): (Vec<u8>, Vec<u8>)| {
                let name = String::from_utf8_lossy(&name);
                RawRecord::new(format!("{hash} {name}"), value)
            }
        };
        let row =
            |kind| move |(member, score): RawRow| RawRecord::new(format!("{kind} {score}"), member);
        let head = head.into_iter().map(field("head"));
        let history = history.into_iter().map(row("evicted message"));
        let messages = messages.into_iter().map(row("message"));
        let journal = journal.into_iter().map(field("journal"));
        Ok(head.chain(history).chain(messages).chain(journal).collect())
    }
}

impl RedisChatMemoryStore {
    /// Adds the descriptions of these conversations to `found`. Removes expired ones from the indices.
    async fn describe(&self, ids: &[MemoryId], found: &mut Vec<Conversation>) -> Result<()> {
        if ids.is_empty() {
            return Ok(());
        }
        let mut pipeline = redis::pipe();
        for id in ids {
            self.add_head_query(id, &mut pipeline);
        }
        let request = self.0.connections.request("list conversations", pipeline);
        let answers: Vec<RawConversation> = request.await?;
        let mut gone = Vec::new();
        for (id, answer) in ids.iter().zip(&answers) {
            match described(id, answer)? {
                None => gone.push(id.clone()),
                Some((_, true)) => {}
                Some((conversation, false)) => found.push(conversation),
            }
        }
        self.prune(&gone).await
    }

    fn add_head_query(&self, id: &MemoryId, pipeline: &mut Pipeline) {
        let keys = self.0.keys.of(id);
        let head = pipeline.cmd("HMGET").arg(keys.head);
        head.arg("version").arg("messages").arg("used");
        pipeline.cmd("EXISTS").arg(keys.history);
    }
}

/// Returns the description of a conversation and whether it has neither messages nor history; `None` if it
/// does not exist.
fn described(
    id: &MemoryId,
    ((version, messages, used), has_history): &RawConversation,
) -> Result<Option<(Conversation, bool)>, UnreadableRecord> {
    let Some(head) = head(id, version, messages)? else { return Ok(None) };
    let used = i64::try_from(field(id, "used", used)?);
    let used = used.map_err(|_| corrupt_head(id, "its field `used` is not a time"))?;
    let conversation = Conversation::new(id.clone(), head.messages, time::from_millis(used));
    Ok(Some((conversation, head.messages == 0 && !has_history)))
}
