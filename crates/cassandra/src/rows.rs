//! Rows of the table, and their validation.

use super::statements::{ANCHOR, MESSAGE};
use ai_services_core::Result;
use ai_services_core::memory::{JournalPosition, MemoryId, UnreadableRecord};
use ai_services_core::store_kit::commits::CommitLog;
use ai_services_core::store_kit::plan::ConversationHead;
use scylla::DeserializeRow;
use scylla::cluster::metadata::ColumnType;
use scylla::deserialize::value::DeserializeValue;
use scylla::deserialize::{DeserializationError, FrameSlice, TypeCheckError};
use scylla::serialize::SerializationError;
use scylla::serialize::value::SerializeValue;
use scylla::serialize::writers::{CellWriter, WrittenCellProof};

/// A text value as raw bytes, which may be invalid UTF-8. Null is read as empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RawText(pub(super) Vec<u8>);

impl AsRef<[u8]> for RawText {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl<'frame, 'metadata> DeserializeValue<'frame, 'metadata> for RawText {
    fn type_check(kind: &ColumnType<'_>) -> Result<(), TypeCheckError> {
        <&str as DeserializeValue<'_, '_>>::type_check(kind)
    }

    fn deserialize(
        _: &'metadata ColumnType<'metadata>,
        value: Option<FrameSlice<'frame>>,
    ) -> Result<Self, DeserializationError> {
        Ok(Self(value.map(|value| value.as_slice().to_vec()).unwrap_or_default()))
    }
}

impl SerializeValue for RawText {
    fn serialize<'b>(
        &self,
        _: &ColumnType<'_>,
        writer: CellWriter<'b>,
    ) -> Result<WrittenCellProof<'b>, SerializationError> {
        // Not `str`, so that invalid UTF-8 is moved unchanged, or rejected by the server.
        writer.set_value(&self.0).map_err(SerializationError::new)
    }
}

/// A row in memory.
#[derive(Debug, DeserializeRow)]
pub(super) struct MemoryRow {
    kind: i8,
    number: i64,
    version: Option<i64>,
    messages: Option<i64>,
    commits: Option<Vec<u8>>,
    journal: Option<String>,
    record: RawText,
}

/// A row in memory that is read without its record.
#[derive(Debug, DeserializeRow)]
pub(super) struct NumberRow {
    kind: i8,
    number: i64,
    version: Option<i64>,
    messages: Option<i64>,
    commits: Option<Vec<u8>>,
    journal: Option<String>,
}

impl From<NumberRow> for MemoryRow {
    fn from(row: NumberRow) -> Self {
        let NumberRow { kind, number, version, messages, commits, journal } = row;
        Self { kind, number, version, messages, commits, journal, record: RawText::default() }
    }
}

/// A stored message.
#[derive(Debug)]
pub(super) struct StoredMessage {
    pub(super) number: u64,
    pub(super) record: RawText,
}

/// The head and the messages in memory, or the first of them.
#[derive(Debug, Default)]
pub(super) struct Stored {
    pub(super) head: Option<ConversationHead>,
    pub(super) commits: CommitLog,
    /// Position of the open journal.
    pub(super) journal: Option<JournalPosition>,
    pub(super) messages: Vec<StoredMessage>,
}

impl Stored {
    /// Adds the next row. Returns whether it has the same version as the previous rows.
    pub(super) fn push(&mut self, id: &MemoryId, row: MemoryRow) -> Result<bool> {
        let found = head(id, row.version, row.messages)?;
        if row.kind == ANCHOR {
            self.journal = position(id, row.journal.as_deref())?;
            if found.is_none() && row.commits.is_none() && self.journal.is_some() {
                // The journal of a conversation without a commit.
                return Ok(true);
            }
        }
        let Some(found) = found else {
            return Err(UnreadableRecord::corrupt(id, "the head", "it has no version").into());
        };
        if *self.head.get_or_insert(found) != found {
            return Ok(false);
        }
        match row.kind {
            ANCHOR => self.commits = CommitLog::new(row.commits.unwrap_or_default()),
            MESSAGE => {
                let number = number(id, row.number)?;
                self.messages.push(StoredMessage { number, record: row.record });
            }
            kind => {
                let reason = format!("unknown kind {kind}");
                return Err(UnreadableRecord::corrupt(id, "a row", reason).into());
            }
        }
        Ok(true)
    }
}

/// Converts the number of a row, which must not be negative.
pub(super) fn number(id: &MemoryId, number: i64) -> Result<u64> {
    u64::try_from(number).map_err(|_| {
        let row = format_args!("message {number}");
        UnreadableRecord::corrupt(id, row, "its number is negative").into()
    })
}

/// Validates the head of a conversation; `None` if it does not have a version.
pub(super) fn head(
    id: &MemoryId,
    version: Option<i64>,
    messages: Option<i64>,
) -> Result<Option<ConversationHead>> {
    let corrupt = |field: &str, value: i64| {
        let reason = format!("its {field} is {value}");
        UnreadableRecord::corrupt(id, "the head", reason)
    };
    let Some(version) = version else { return Ok(None) };
    let valid = u64::try_from(version).ok().filter(|version| (1..1 << 53).contains(version));
    let valid = valid.ok_or_else(|| corrupt("version", version))?;
    let count = messages.ok_or_else(|| {
        UnreadableRecord::corrupt(id, "the head", "its number of messages is missing")
    })?;
    let count = u64::try_from(count).map_err(|_| corrupt("number of messages", count))?;
    Ok(Some(ConversationHead { version: valid, messages: count }))
}

/// Reads the position of the open journal; `None` if none is open.
pub(super) fn position(id: &MemoryId, text: Option<&str>) -> Result<Option<JournalPosition>> {
    let parsed = text.map(str::parse::<JournalPosition>).transpose();
    parsed.map_err(|error| UnreadableRecord::corrupt(id, "the head", error).into())
}

/// Converts a number to a `bigint`, saturating. Versions and positions never reach the limit.
pub(super) fn bigint(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Converts a 64-bit token to a `bigint` with the same bits.
pub(super) fn token(token: u64) -> i64 {
    i64::from_ne_bytes(token.to_ne_bytes())
}
