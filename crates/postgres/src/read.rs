//! Queries on conversations.

use super::PostgresChatMemoryStore;
use super::connection::{Connection, RawText};
use super::error_mapping::AttemptFailure;
use super::tokio_postgres::Row;
use super::tokio_postgres::types::{FromSql, Type};
use ai_services_core::memory::{
    Conversation, HistoryEntry, HistoryPosition, JournalPosition, MemoryId, RawRecord, TurnId,
    UnreadableRecord,
};
use ai_services_core::store_kit::cache::{
    KnownConversation, LoadedConversation, StoredConversation, StoredRows,
};
use ai_services_core::store_kit::commits::CommitLog;
use ai_services_core::store_kit::plan::ConversationHead;
use ai_services_core::store_kit::{record, time};
use ai_services_core::{Error, Result};
use std::error::Error as StdError;

impl PostgresChatMemoryStore {
    /// Reads and decodes what a load needs besides the known state, in one consistent read.
    pub(super) async fn read(
        &self,
        connection: &mut Connection,
        id: &MemoryId,
        known: Option<&KnownConversation>,
    ) -> Result<LoadedConversation, AttemptFailure> {
        let (sql, bytes) = (&self.0.sql, id.as_str().as_bytes());
        let since = known.and_then(|known| Some((known.first_row()?, known.oldest_rows())));
        let found = match since {
            None => connection.query(&sql.load, &[&bytes]).await?,
            Some((first, [oldest, second])) => {
                let (first, oldest, second) = (signed(first), signed(oldest), signed(second));
                connection.query(&sql.load_since, &[&bytes, &first, &oldest, &second]).await?
            }
        };
        let (mut first, mut commits, mut journal) = (None, CommitLog::default(), None);
        let (mut rows, mut oldest) = (Vec::with_capacity(found.len()), Vec::new());
        for row in &found {
            match (row.try_get("number")?, row.try_get("record")?) {
                (None, _) => match position_at(row, row.try_get("version")?)? {
                    Some(position) => journal = Some(position),
                    None => (first, commits) = (Some(head(id, row)?), log(Some(row))?),
                },
                (Some(found), None) => oldest.push(number(id, found)?),
                (Some(found), Some(record)) => rows.push((number(id, found)?, record)),
            }
        }
        rows.sort_by_key(|(number, _)| *number);
        let rows = match since {
            None => StoredRows::All::<RawText<'_>>(rows),
            Some(_) => StoredRows::Since { oldest, rows },
        };
        let stored = StoredConversation { head: first, commits, rows };
        let loaded = stored.decode(id, known).map_err(Error::from)?;
        Ok(loaded.with_journal(journal))
    }

    pub(super) async fn read_conversation(
        &self,
        id: &MemoryId,
    ) -> Result<Option<Conversation>, AttemptFailure> {
        let mut connection = self.connect().await?;
        let found = connection.query(&self.0.sql.conversation, &[&id.as_str().as_bytes()]).await?;
        found.first().map(conversation).transpose()
    }

    pub(super) async fn read_conversations(
        &self,
        after: Option<&MemoryId>,
        limit: usize,
    ) -> Result<Vec<Conversation>, AttemptFailure> {
        let after = after.map(|id| id.as_str().as_bytes());
        let mut connection = self.connect().await?;
        let sql = &self.0.sql.conversations;
        let found = connection.query(sql, &[&after, &at_most(limit)]).await?;
        found.iter().map(conversation).collect()
    }

    pub(super) async fn read_history(
        &self,
        id: &MemoryId,
        position: HistoryPosition,
        limit: usize,
    ) -> Result<Vec<HistoryEntry>, AttemptFailure> {
        use HistoryPosition::{After, Before, Newest, Oldest};
        let bound = |number| i64::try_from(number).unwrap_or(i64::MAX);
        let (sql, bound) = match position {
            Oldest => (&self.0.sql.history_forward, i64::MIN),
            After(number) => (&self.0.sql.history_forward, bound(number)),
            Newest => (&self.0.sql.history_backward, i64::MAX),
            Before(number) => (&self.0.sql.history_backward, bound(number)),
        };
        let mut connection = self.connect().await?;
        let id_bytes = id.as_str().as_bytes();
        let found = connection.query(sql, &[&id_bytes, &bound, &at_most(limit)]).await?;
        let entry = |row| {
            let (number, text): (_, RawText<'_>) = numbered(id, row)?;
            let message = record::decode(id, number, text.as_ref()).map_err(Error::from)?;
            Ok(HistoryEntry::new(number, message, row.try_get("is_evicted")?))
        };
        let mut entries = found.iter().map(entry).collect::<Result<Vec<_>, AttemptFailure>>()?;
        if matches!(position, Newest | Before(_)) {
            entries.reverse();
        }
        Ok(entries)
    }

    pub(super) async fn read_raw(&self, id: &MemoryId) -> Result<Vec<RawRecord>, AttemptFailure> {
        let mut connection = self.connect().await?;
        let found = connection.query(&self.0.sql.export, &[&id.as_str().as_bytes()]).await?;
        let mut records = Vec::with_capacity(found.len());
        for row in &found {
            let text: Option<RawText<'_>> = row.try_get("record")?;
            let data: Option<&[u8]> = row.try_get("data")?;
            let data = data.or(text.as_ref().map(RawText::as_ref)).unwrap_or_default();
            let record = RawRecord::new(row.try_get::<_, String>("row")?, data);
            let part: i32 = row.try_get("part")?;
            records.push(((part, row.try_get::<_, i64>("number")?), record));
        }
        records.sort_by_key(|(place, _)| *place);
        Ok(records.into_iter().map(|(_, record)| record).collect())
    }
}

/// Reads the head from a row with the columns `version`, `messages` and `is_own`.
pub(super) fn head(id: &MemoryId, row: &Row) -> Result<ConversationHead, AttemptFailure> {
    let corrupt = |reason: &str| {
        AttemptFailure::from(Error::from(UnreadableRecord::corrupt(id, "the head", reason)))
    };
    if !row.try_get::<_, bool>("is_own")? {
        return Err(corrupt("it belongs to another conversation"));
    }
    let (version, messages): (i64, i64) = (row.try_get("version")?, row.try_get("messages")?);
    match (u64::try_from(version), u64::try_from(messages)) {
        (Ok(version @ 1..), Ok(messages)) => Ok(ConversationHead { version, messages }),
        _ => Err(corrupt(&format!("version {version} with {messages} messages is invalid"))),
    }
}

/// Reads the number and the record of a message from a row.
pub(super) fn numbered<'a>(
    id: &MemoryId,
    row: &'a Row,
) -> Result<(u64, RawText<'a>), AttemptFailure> {
    Ok((number(id, row.try_get("number")?)?, row.try_get("record")?))
}

fn number(id: &MemoryId, number: i64) -> Result<u64, AttemptFailure> {
    u64::try_from(number).map_err(|_| {
        let name = format!("message {number}");
        Error::from(UnreadableRecord::corrupt(id, name, "its number is negative")).into()
    })
}

/// Reads the log of commits from a row; an empty one if there is no conversation.
pub(super) fn log(row: Option<&Row>) -> Result<CommitLog, AttemptFailure> {
    let Some(row) = row else { return Ok(CommitLog::default()) };
    let bytes = row.try_get::<_, Option<&[u8]>>("commits")?;
    Ok(CommitLog::new(bytes.unwrap_or_default()))
}

/// Reads the position of a journal from a row with the columns `turn` and `length`; `None` if they are null.
pub(super) fn position(row: &Row) -> Result<Option<JournalPosition>, AttemptFailure> {
    let Some(length) = row.try_get("length")? else { return Ok(None) };
    position_at(row, length)
}

/// Same as [`position`], for a length from another column.
fn position_at(row: &Row, length: i64) -> Result<Option<JournalPosition>, AttemptFailure> {
    let turn: Option<StoredTurn> = row.try_get("turn")?;
    // The table does not accept a length below 1.
    let length = u64::try_from(length).unwrap_or(0);
    Ok(turn.map(|StoredTurn(turn)| JournalPosition { turn, length }))
}

/// A turn as a value of the type `uuid`.
struct StoredTurn(TurnId);

impl<'a> FromSql<'a> for StoredTurn {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn StdError + Sync + Send>> {
        Ok(Self(TurnId::from_u128(u128::from_be_bytes(raw.try_into()?))))
    }

    fn accepts(kind: &Type) -> bool {
        *kind == Type::UUID
    }
}

/// Converts a number to a `bigint`, saturating. Versions and positions never reach the limit, and a saturated
/// one matches no row.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Reads a conversation from a row with the columns `id`, `is_own`, `messages` and `last_updated`.
fn conversation(row: &Row) -> Result<Conversation, AttemptFailure> {
    let id = listed_id(row, "the head")?;
    let messages: i64 = row.try_get("messages")?;
    let Ok(messages) = u64::try_from(messages) else {
        let reason = format!("the number of messages, {messages}, is invalid");
        return Err(Error::from(UnreadableRecord::corrupt(&id, "the head", reason)).into());
    };
    Ok(Conversation::new(id, messages, time::from_millis(row.try_get("last_updated")?)))
}

/// Reads the id from a row with the columns `id` and `is_own`.
pub(super) fn listed_id(row: &Row, name: &str) -> Result<MemoryId, AttemptFailure> {
    let (id, is_own): (&[u8], bool) = (row.try_get("id")?, row.try_get("is_own")?);
    match std::str::from_utf8(id) {
        Ok(id) if is_own => Ok(id.into()),
        _ => {
            let id = MemoryId::from(String::from_utf8_lossy(id).into_owned());
            let reason = "it belongs to another conversation";
            Err(Error::from(UnreadableRecord::corrupt(&id, name, reason)).into())
        }
    }
}

pub(super) fn at_most(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}
