//! Pages of the history of a conversation.

use super::RedisChatMemoryStore;
use super::rows::{RawRow, Record, rows};
use ai_services_core::Result;
use ai_services_core::memory::{HistoryEntry, HistoryPosition, MemoryId, UnreadableRecord};
use ai_services_core::store_kit::record;

impl RedisChatMemoryStore {
    /// Returns a page of the history, merged from a page of evicted messages and one of messages in memory.
    /// The server reads only the rows that it returns.
    pub(super) async fn page(
        &self,
        id: &MemoryId,
        position: HistoryPosition,
        limit: usize,
    ) -> Result<Vec<HistoryEntry>> {
        let keys = self.0.keys.of(id);
        let read = self.read_consistently("read a history", id, |pipeline| {
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
        });
        let (evicted, current): (Vec<RawRow>, Vec<RawRow>) = read.await?;
        let mut entries = entries(id, evicted, true)?;
        entries.extend(self::entries(id, current, false)?);
        entries.sort_by_key(|entry| entry.position);
        if let Some(duplicate) = entries.windows(2).find_map(repeated) {
            let row = format_args!("message {duplicate}");
            return Err(UnreadableRecord::corrupt(id, row, "it is stored twice").into());
        }
        match position {
            HistoryPosition::Newest | HistoryPosition::Before(_) => {
                entries.drain(..entries.len().saturating_sub(limit));
            }
            HistoryPosition::Oldest | HistoryPosition::After(_) => entries.truncate(limit),
        }
        Ok(entries)
    }
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

/// Returns the position that two neighbouring entries share, if any.
fn repeated(pair: &[HistoryEntry]) -> Option<u64> {
    match pair {
        [one, other] if one.position == other.position => Some(one.position),
        _ => None,
    }
}
