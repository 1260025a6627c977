//! Listing, cleaning up, and reading back.

use super::RedisChatMemoryStore;
use super::rows::{RawField, RawRow, corrupt_head, field, head};
use ai_services_core::Result;
use ai_services_core::memory::{
    Conversation, ConversationStore, HistoryEntry, HistoryPosition, MemoryId, RawRecord,
    UnreadableRecord, check_limit,
};
use ai_services_core::store_kit::time;
use async_trait::async_trait;
use redis::Pipeline;
use std::time::SystemTime;

/// How many conversations are asked for at once.
const PAGE: usize = 500;

/// A head and whether something was kept as history.
type RawConversation = ((RawField, RawField, RawField), bool);

#[async_trait]
impl ConversationStore for RedisChatMemoryStore {
    /// In the order of the bytes of the ids.
    async fn conversations(
        &self,
        after: Option<&MemoryId>,
        limit: usize,
    ) -> Result<Vec<Conversation>> {
        let limit = check_limit(limit)?;
        let mut after = after.cloned();
        let mut found = Vec::new();
        loop {
            let wanted = (limit - found.len()).min(PAGE);
            let ids = self.ids(after.as_ref(), wanted).await?;
            self.describe(&ids, &mut found).await?;
            if found.len() == limit || ids.len() < wanted {
                return Ok(found);
            }
            after = ids.into_iter().next_back();
        }
    }

    async fn conversation(&self, id: &MemoryId) -> Result<Option<Conversation>> {
        let mut pipeline = redis::pipe();
        self.ask_about(id, pipeline.atomic());
        let ask = self.0.connections.ask("read a conversation", pipeline);
        Ok(described(id, &ask.await?)?.filter(|(_, is_empty)| !is_empty).map(|(known, _)| known))
    }

    async fn delete_unused_since(&self, time: SystemTime) -> Result<u64> {
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
        let mut pipeline = redis::pipe();
        pipeline.atomic().cmd("HGETALL").arg(keys.head);
        for key in [keys.history, keys.messages] {
            pipeline.cmd("ZRANGE").arg(key).arg(0).arg(-1).arg("WITHSCORES");
        }
        let ask = self.0.connections.ask("export a conversation", pipeline);
        let (head, history, messages): (Vec<(Vec<u8>, Vec<u8>)>, Vec<RawRow>, Vec<RawRow>) =
            ask.await?;
        let field = |(name, value): (Vec<u8>, Vec<u8>)| {
            RawRecord::new(format!("head {}", String::from_utf8_lossy(&name)), value)
        };
        let row =
            |kind| move |(member, score): RawRow| RawRecord::new(format!("{kind} {score}"), member);
        let head = head.into_iter().map(field);
        let history = history.into_iter().map(row("evicted message"));
        Ok(head.chain(history).chain(messages.into_iter().map(row("message"))).collect())
    }
}

impl RedisChatMemoryStore {
    /// Adds what is known about these conversations. Those that are gone are taken out of the index.
    async fn describe(&self, ids: &[MemoryId], found: &mut Vec<Conversation>) -> Result<()> {
        if ids.is_empty() {
            return Ok(());
        }
        let mut pipeline = redis::pipe();
        for id in ids {
            self.ask_about(id, &mut pipeline);
        }
        let ask = self.0.connections.ask("list conversations", pipeline);
        let answers: Vec<RawConversation> = ask.await?;
        let mut gone = Vec::new();
        for (id, answer) in ids.iter().zip(&answers) {
            match described(id, answer)? {
                None => gone.push(id.clone()),
                Some((_, true)) => {}
                Some((known, false)) => found.push(known),
            }
        }
        self.prune(&gone).await
    }

    fn ask_about(&self, id: &MemoryId, pipeline: &mut Pipeline) {
        let keys = self.0.keys.of(id);
        let head = pipeline.cmd("HMGET").arg(keys.head);
        head.arg("version").arg("messages").arg("used");
        pipeline.cmd("EXISTS").arg(keys.history);
    }
}

/// What is known, and whether nothing is left that somebody could read.
fn described(
    id: &MemoryId,
    ((version, messages, used), has_history): &RawConversation,
) -> Result<Option<(Conversation, bool)>, UnreadableRecord> {
    let Some(head) = head(id, version, messages)? else { return Ok(None) };
    let used = i64::try_from(field(id, "used", used)?);
    let used = used.map_err(|_| corrupt_head(id, "its field `used` is no time"))?;
    let known = Conversation::new(id.clone(), head.messages, time::from_millis(used));
    Ok(Some((known, head.messages == 0 && !has_history)))
}
