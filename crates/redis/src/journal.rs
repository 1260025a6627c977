//! Journals of open turns: one hash for each.

use super::RedisChatMemoryStore;
use super::lease::token;
use super::rows::{RawField, number};
use super::scripts::{APPEND, DISCARD};
use ai_services_core::memory::{
    JournalPosition, LeaseToken, MemoryId, OpenJournal, TurnId, TurnJournal, TurnJournals,
    UnreadableRecord,
};
use ai_services_core::store_kit::commits::Settled;
use ai_services_core::store_kit::failpoint::failpoint;
use ai_services_core::store_kit::journal::{self, PendingAppend};
use ai_services_core::store_kit::limits::check_id;
use ai_services_core::store_kit::{check_limit, journal_moved, lease_lost, time};
use ai_services_core::{Error, ErrorKind, Result};
use async_trait::async_trait;

/// Field with the position behind the last record. The names of the other fields are the numbers of the records.
const POSITION: &str = "position";

/// Field with the time of the last append.
const APPENDED: &str = "appended";

/// Maximum number of journals in one request.
const PAGE: usize = 500;

/// The position of a journal, and the time of its last append.
type RawJournal = (RawField, RawField);

#[async_trait]
impl TurnJournals for RedisChatMemoryStore {
    async fn journal(&self, id: &MemoryId) -> Result<Option<TurnJournal>> {
        check_id(id)?;
        let mut pipeline = redis::pipe();
        pipeline.cmd("HGETALL").arg(self.0.keys.of(id).journal);
        let request = self.0.connections.request("read the journal of a conversation", pipeline);
        let (fields,): (Vec<(Vec<u8>, Vec<u8>)>,) = request.await?;
        Ok(parse(id, fields)?)
    }

    async fn append(
        &self,
        id: &MemoryId,
        position: JournalPosition,
        records: &[String],
        lease: Option<LeaseToken>,
    ) -> Result<JournalPosition> {
        check_id(id)?;
        let pending = PendingAppend::new(id, position, records);
        let appended = self.send(id, &pending, lease).await;
        appended.map_err(|error| pending.fail(error))?;
        Ok(pending.next())
    }

    async fn discard(&self, id: &MemoryId, position: JournalPosition) -> Result<()> {
        check_id(id)?;
        let keys = self.0.keys.of(id);
        let mut script = DISCARD.prepare_invoke();
        script.key(keys.head).key(keys.journal).key(&self.0.keys.used).key(&self.0.keys.journals);
        script.arg(id.as_str()).arg(position.to_string());
        let action = "discard the journal of a conversation";
        let is_discarded: bool = self.0.connections.request(action, script).await?;
        if is_discarded { Ok(()) } else { Err(journal_moved(id)) }
    }

    /// Returns journals sorted by the bytes of their ids.
    async fn open_journals(
        &self,
        after: Option<&MemoryId>,
        limit: usize,
    ) -> Result<Vec<OpenJournal>> {
        let limit = check_limit(limit)?;
        let mut after = after.cloned();
        let mut open = Vec::new();
        loop {
            let page_size = (limit - open.len()).min(PAGE);
            let ids = self.indexed(&self.0.keys.journals, after.as_ref(), page_size).await?;
            self.describe_journals(&ids, &mut open).await?;
            if open.len() == limit || ids.len() < page_size {
                return Ok(open);
            }
            after = ids.into_iter().next_back();
        }
    }
}

impl RedisChatMemoryStore {
    async fn send(
        &self,
        id: &MemoryId,
        append: &PendingAppend,
        lease: Option<LeaseToken>,
    ) -> Result<()> {
        let (keys, shared) = (self.0.keys.of(id), &self.0.keys);
        let before = append.position();
        let before = if before.length == 0 { String::new() } else { before.to_string() };
        let mut script = APPEND.prepare_invoke();
        script.key(keys.head).key(keys.messages).key(keys.history).key(keys.lease);
        script.key(keys.journal).key(&shared.used).key(&shared.journals);
        script.arg(id.as_str()).arg(before).arg(append.next().to_string());
        script.arg(append.next().length).arg(time::now());
        script.arg(lease.map(token).unwrap_or_default());
        script.arg(self.0.time_to_live.map(|millis| millis.to_string()).unwrap_or_default());
        for (number, text) in append.rows() {
            script.arg(*number).arg(text);
        }
        failpoint!("redis.before_append");
        let action = "append to the journal of a conversation";
        let lose_answer = || append.lose_answer();
        let request = self.0.connections.request_noting_losses(action, script, lose_answer);
        let answer: Vec<Vec<u8>> = request.await?;
        failpoint!("redis.after_append");
        parse_outcome(id, append, &answer)
    }

    /// Adds these journals to `open`. Removes those that are no longer open from the index.
    async fn describe_journals(&self, ids: &[MemoryId], open: &mut Vec<OpenJournal>) -> Result<()> {
        if ids.is_empty() {
            return Ok(());
        }
        let mut pipeline = redis::pipe();
        for id in ids {
            pipeline.cmd("HMGET").arg(self.0.keys.of(id).journal).arg(POSITION).arg(APPENDED);
        }
        let request = self.0.connections.request("list journals", pipeline);
        let answers: Vec<RawJournal> = request.await?;
        let mut closed = Vec::new();
        for (id, (raw, appended)) in ids.iter().zip(answers) {
            let Some(position) = position(raw) else {
                closed.push(id.clone());
                continue;
            };
            let appended =
                appended.as_deref().and_then(number).and_then(|it| i64::try_from(it).ok());
            let last_updated = time::from_millis(appended.unwrap_or_default());
            open.push(OpenJournal::new(id.clone(), position, last_updated));
        }
        self.prune(&closed).await
    }
}

/// Adds the query for the position of a journal, which is parsed by [`position`].
pub(super) fn add_position_query(pipeline: &mut redis::Pipeline, key: &str) {
    pipeline.cmd("HGET").arg(key).arg(POSITION);
}

/// Returns the position of the open journal. A damaged one becomes a position that no journal has, so that
/// writes are conflicts, and reading the journal reports the damage.
pub(super) fn position(field: RawField) -> Option<JournalPosition> {
    let damaged = JournalPosition { turn: TurnId::from_u128(0), length: u64::MAX };
    field.map(|field| parse_position(&field).unwrap_or(damaged))
}

fn parse_position(field: &[u8]) -> Option<JournalPosition> {
    std::str::from_utf8(field).ok()?.parse().ok()
}

/// Interprets the answer of the append script.
fn parse_outcome(id: &MemoryId, append: &PendingAppend, answer: &[Vec<u8>]) -> Result<()> {
    let words: Vec<_> = answer.iter().map(Vec::as_slice).collect();
    match *words.as_slice() {
        [b"applied"] => Ok(()),
        [b"lease"] => Err(lease_lost(id)),
        [b"headless"] => Err(corrupt(id, "its position is missing").into()),
        [b"refused", found, newest] => {
            let found = Some(found.to_vec()).filter(|found| !found.is_empty());
            let current = position(found).map(|position| (position, newest));
            match append.settle(current)? {
                Settled::Applied => Ok(()),
                Settled::NotApplied => Err(journal_moved(id)),
            }
        }
        _ => {
            append.lose_answer();
            Err(Error::new(ErrorKind::Store, "the append script returned an unknown answer"))
        }
    }
}

/// Reads the fields of a journal.
fn parse(
    id: &MemoryId,
    fields: Vec<(Vec<u8>, Vec<u8>)>,
) -> Result<Option<TurnJournal>, UnreadableRecord> {
    if fields.is_empty() {
        return Ok(None);
    }
    let found = fields.iter().find(|(name, _)| name == POSITION.as_bytes());
    let Some(JournalPosition { turn, length }) = found.and_then(|(_, it)| parse_position(it))
    else {
        return Err(corrupt(id, "its position is missing or damaged"));
    };
    let mut rows = Vec::with_capacity(fields.len());
    for (name, text) in fields {
        if name == POSITION.as_bytes() || name == APPENDED.as_bytes() {
            continue;
        }
        let number =
            number(&name).ok_or_else(|| corrupt(id, "the number of a record is damaged"))?;
        rows.push((turn, number, text));
    }
    rows.sort_unstable_by_key(|(_, number, _)| *number);
    if rows.len() as u64 != length {
        let reason = format!("it counts {length} records, but there are {}", rows.len());
        return Err(corrupt(id, &reason));
    }
    journal::journal(id, &rows)
}

fn corrupt(id: &MemoryId, reason: &str) -> UnreadableRecord {
    UnreadableRecord::corrupt(id, "the journal", reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn append() -> PendingAppend {
        let start = JournalPosition::start(TurnId::from_u128(7));
        PendingAppend::new(&"klaus".into(), start, &["a".to_owned(), "b".to_owned()])
    }

    #[test]
    fn unknown_answer_is_an_unknown_outcome() {
        let append = append();
        let error = parse_outcome(&"klaus".into(), &append, &[b"applause".to_vec()]).unwrap_err();
        assert_eq!(append.fail(error).kind(), ErrorKind::UnknownOutcome);
    }

    #[test]
    fn damaged_field_is_reported() {
        let (id, append) = (MemoryId::from("klaus"), append());
        let mut fields = vec![
            (b"appended".to_vec(), b"1".to_vec()),
            (b"position".to_vec(), append.next().to_string().into_bytes()),
        ];
        let rows = append.rows().iter().rev();
        fields.extend(rows.map(|(number, text)| (number.to_string().into(), text.clone().into())));
        let journal = parse(&id, fields.clone()).unwrap().unwrap();
        assert_eq!(journal.records, ["a", "b"]);
        for at in 1..fields.len() {
            let mut fewer = fields.clone();
            fewer.remove(at);
            assert!(parse(&id, fewer).is_err());
            for is_name in [true, false] {
                let mut damaged = fields.clone();
                let (name, value) = &mut damaged[at];
                if is_name { name } else { value }.push(b'0');
                assert!(parse(&id, damaged).is_err());
            }
        }
        assert_eq!(parse(&id, Vec::new()).unwrap(), None);
    }
}
