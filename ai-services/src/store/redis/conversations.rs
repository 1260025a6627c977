//! Listing, cleaning up, and reading back.

use super::RedisChatMemoryStore;
use super::rows::{RawField, RawRow, Record, corrupt_head, field, head, rows};
use super::scripts::{PRUNE, REMOVE};
use crate::error::{Error, ErrorKind, Result};
use crate::memory::{
    Conversation, ConversationStore, HistoryEntry, HistoryPosition, MemoryId, RawRecord,
    UnreadableRecord, check_limit,
};
use crate::store::{record, time};
use async_trait::async_trait;
use redis::Pipeline;
use std::time::SystemTime;

/// How many conversations are asked for at once.
const PAGE: usize = 500;

/// How many conversations are deleted in one step.
const BATCH: usize = 100;

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
            let mut pipeline = redis::pipe();
            let command = pipeline.cmd("ZRANGEBYSCORE").arg(&self.0.keys.used).arg("-inf");
            command.arg(format!("({before}")).arg("LIMIT").arg(0).arg(BATCH);
            let what = "look for old conversations";
            let ask = self.0.connections.ask(what, pipeline);
            let (ids,): (Vec<Vec<u8>>,) = ask.await?;
            if ids.is_empty() {
                return Ok(deleted);
            }
            deleted += self.remove(&readable(&ids)?, Some(before)).await?;
        }
    }

    async fn history(
        &self,
        id: &MemoryId,
        position: HistoryPosition,
        limit: usize,
    ) -> Result<Vec<HistoryEntry>> {
        let limit = check_limit(limit)?;
        let keys = self.0.keys.of(id);
        let mut pipeline = redis::pipe();
        pipeline.atomic();
        for key in [&keys.history, &keys.messages] {
            let (range, from, to) = match position {
                HistoryPosition::Oldest => ("ZRANGEBYSCORE", "-inf".to_owned(), "+inf"),
                HistoryPosition::After(at) => ("ZRANGEBYSCORE", format!("({at}"), "+inf"),
                HistoryPosition::Newest => ("ZREVRANGEBYSCORE", "+inf".to_owned(), "-inf"),
                HistoryPosition::Before(at) => ("ZREVRANGEBYSCORE", format!("({at}"), "-inf"),
            };
            let command = pipeline.cmd(range).arg(key).arg(from).arg(to).arg("WITHSCORES");
            command.arg("LIMIT").arg(0).arg(i64::try_from(limit).unwrap_or(i64::MAX));
        }
        let ask = self.0.connections.ask("read a history", pipeline);
        let (evicted, current): (Vec<RawRow>, Vec<RawRow>) = ask.await?;
        let mut entries = entries(id, evicted, true)?;
        entries.extend(self::entries(id, current, false)?);
        entries.sort_by_key(|entry| entry.position);
        if let Some(twice) = entries.windows(2).find_map(repeated) {
            let row = format_args!("message {twice}");
            return Err(UnreadableRecord::corrupt(id, row, "it is there twice").into());
        }
        match position {
            HistoryPosition::Newest | HistoryPosition::Before(_) => {
                entries.drain(..entries.len().saturating_sub(limit));
            }
            HistoryPosition::Oldest | HistoryPosition::After(_) => entries.truncate(limit),
        }
        Ok(entries)
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
    /// Ids from the index, also of conversations that have expired.
    async fn ids(&self, after: Option<&MemoryId>, limit: usize) -> Result<Vec<MemoryId>> {
        let after = after.map_or("-".to_owned(), |after| format!("({after}"));
        let mut pipeline = redis::pipe();
        let command = pipeline.cmd("ZRANGEBYLEX").arg(&self.0.keys.ids).arg(after).arg("+");
        command.arg("LIMIT").arg(0).arg(limit);
        let ask = self.0.connections.ask("list conversations", pipeline);
        let (ids,): (Vec<Vec<u8>>,) = ask.await?;
        readable(&ids)
    }

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

    async fn prune(&self, ids: &[MemoryId]) -> Result<()> {
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

/// The ids of an index. This store writes only text.
fn readable(ids: &[Vec<u8>]) -> Result<Vec<MemoryId>> {
    let text = |id: &Vec<u8>| {
        let id = std::str::from_utf8(id).map_err(|source| {
            let message = "an index of conversations holds an id that is not text; the database was \
                           changed by something else";
            Error::new(ErrorKind::Memory, message).with_source(source)
        })?;
        Ok(MemoryId::from(id))
    };
    ids.iter().map(text).collect()
}

fn entries(
    id: &MemoryId,
    stored: Vec<RawRow>,
    is_evicted: bool,
) -> Result<Vec<HistoryEntry>, UnreadableRecord> {
    let entry = |(number, record): &(u64, Record)| {
        let message = record::decode(id, *number, record.as_ref())?;
        Ok(HistoryEntry::new(*number, message, is_evicted))
    };
    rows(id, stored)?.iter().map(entry).collect()
}

fn repeated(pair: &[HistoryEntry]) -> Option<u64> {
    match pair {
        [one, other] if one.position == other.position => Some(one.position),
        _ => None,
    }
}
