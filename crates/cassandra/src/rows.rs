//! Rows as they are read, and what is believed of them.

use super::statements::{ANCHOR, MESSAGE};
use ai_services_core::Result;
use ai_services_core::memory::{MemoryId, UnreadableRecord};
use ai_services_core::store_kit::plan::Head;
use scylla::DeserializeRow;
use scylla::cluster::metadata::ColumnType;
use scylla::deserialize::value::DeserializeValue;
use scylla::deserialize::{DeserializationError, FrameSlice, TypeCheckError};
use scylla::serialize::SerializationError;
use scylla::serialize::value::SerializeValue;
use scylla::serialize::writers::{CellWriter, WrittenCellProof};

/// Text as it is, even if it is none; empty if there is nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Raw(pub(super) Vec<u8>);

impl AsRef<[u8]> for Raw {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl<'frame, 'metadata> DeserializeValue<'frame, 'metadata> for Raw {
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

impl SerializeValue for Raw {
    fn serialize<'b>(
        &self,
        _: &ColumnType<'_>,
        writer: CellWriter<'b>,
    ) -> Result<WrittenCellProof<'b>, SerializationError> {
        // Not `str`, so that what is no text is moved as it is, or refused by the server.
        writer.set_value(&self.0).map_err(SerializationError::new)
    }
}

/// A row of those in memory.
#[derive(Debug, DeserializeRow)]
pub(super) struct MemoryRow {
    kind: i8,
    number: i64,
    version: Option<i64>,
    messages: Option<i64>,
    row_token: Option<i64>,
    record: Raw,
}

/// As [`MemoryRow`], read without its record.
#[derive(Debug, DeserializeRow)]
pub(super) struct NumberRow {
    kind: i8,
    number: i64,
    version: Option<i64>,
    messages: Option<i64>,
    row_token: Option<i64>,
}

impl From<NumberRow> for MemoryRow {
    fn from(row: NumberRow) -> Self {
        let NumberRow { kind, number, version, messages, row_token } = row;
        Self { kind, number, version, messages, row_token, record: Raw::default() }
    }
}

/// A message as it is stored.
#[derive(Debug)]
pub(super) struct StoredMessage {
    pub(super) number: u64,
    pub(super) record: Raw,
    /// Which commit wrote it.
    pub(super) token: Option<i64>,
}

/// What is in memory, or the beginning of it.
#[derive(Debug, Default)]
pub(super) struct Stored {
    pub(super) head: Option<Head>,
    pub(super) messages: Vec<StoredMessage>,
}

impl Stored {
    /// Takes in the next row. Says whether it is of the same version as those before.
    pub(super) fn push(&mut self, id: &MemoryId, row: MemoryRow) -> Result<bool> {
        let found = head(id, row.version, row.messages)?;
        let Some(found) = found else {
            return Err(UnreadableRecord::corrupt(id, "the head", "it has no version").into());
        };
        if *self.head.get_or_insert(found) != found {
            return Ok(false);
        }
        match row.kind {
            ANCHOR => {}
            MESSAGE => {
                let number = number(id, row.number)?;
                let MemoryRow { record, row_token: token, .. } = row;
                self.messages.push(StoredMessage { number, record, token });
            }
            kind => {
                let reason = format!("there is no kind {kind}");
                return Err(UnreadableRecord::corrupt(id, "a row", reason).into());
            }
        }
        Ok(true)
    }
}

/// The number of a row.
pub(super) fn number(id: &MemoryId, number: i64) -> Result<u64> {
    u64::try_from(number).map_err(|_| {
        let row = format_args!("message {number}");
        UnreadableRecord::corrupt(id, row, "its number is negative").into()
    })
}

/// The head of a conversation; `None` if it has none.
pub(super) fn head(
    id: &MemoryId,
    version: Option<i64>,
    messages: Option<i64>,
) -> Result<Option<Head>> {
    let corrupt = |what: &str, value: i64| {
        let reason = format!("its {what} is {value}");
        UnreadableRecord::corrupt(id, "the head", reason)
    };
    let Some(version) = version else { return Ok(None) };
    let known = u64::try_from(version).ok().filter(|version| (1..1 << 53).contains(version));
    let known = known.ok_or_else(|| corrupt("version", version))?;
    let count = messages.ok_or_else(|| {
        UnreadableRecord::corrupt(id, "the head", "it does not count its messages")
    })?;
    let count = u64::try_from(count).map_err(|_| corrupt("number of messages", count))?;
    Ok(Some(Head { version: known, messages: count }))
}

/// A number below 2^63 as Cassandra keeps it. Versions and positions are smaller by far.
pub(super) fn bigint(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A token of 64 bits as Cassandra keeps it.
pub(super) fn token(token: u64) -> i64 {
    i64::from_ne_bytes(token.to_ne_bytes())
}
