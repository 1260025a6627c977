//! Strict parsing of stored rows and heads.

use ai_services_core::memory::{MemoryId, UnreadableRecord};
use ai_services_core::store_kit::plan;
use std::fmt::Display;

/// A member of a sorted set with its score, as the driver returns it.
pub(super) type RawRow = (Vec<u8>, f64);

/// A field of a head, as the driver returns it.
pub(super) type RawField = Option<Vec<u8>>;

/// The record part of a member, after the number.
#[derive(Debug)]
pub(super) struct Record {
    member: Vec<u8>,
    start: usize,
}

impl AsRef<[u8]> for Record {
    fn as_ref(&self) -> &[u8] {
        self.member.get(self.start..).unwrap_or_default()
    }
}

/// Returns the member of a row. The number makes it unique in its sorted set.
pub(super) fn member(number: u64, record: &str) -> String {
    format!("{number}:{record}")
}

/// Parses rows, in the order of their scores.
pub(super) fn rows(
    id: &MemoryId,
    rows: Vec<RawRow>,
) -> Result<Vec<(u64, Record)>, UnreadableRecord> {
    rows.into_iter().map(|row| numbered(id, row)).collect()
}

fn numbered(id: &MemoryId, (member, score): RawRow) -> Result<(u64, Record), UnreadableRecord> {
    let corrupt =
        |reason: &str| Err(UnreadableRecord::corrupt(id, format_args!("message {score}"), reason));
    let Some(colon) = member.iter().position(|byte| *byte == b':') else {
        return corrupt("its number is missing");
    };
    match member.get(..colon).and_then(number) {
        // The conversion is exact, because numbers stay below 2^53.
        Some(number) if number as f64 == score => Ok((number, Record { member, start: colon + 1 })),
        Some(_) => corrupt("its number differs from its score"),
        None => corrupt("its number is malformed"),
    }
}

/// Parses a head; `None` if it does not exist.
pub(super) fn head(
    id: &MemoryId,
    version: &RawField,
    messages: &RawField,
) -> Result<Option<plan::ConversationHead>, UnreadableRecord> {
    if version.is_none() && messages.is_none() {
        return Ok(None);
    }
    let version = field(id, "version", version)?;
    if version == 0 {
        return Err(corrupt_head(id, "its version is 0"));
    }
    Ok(Some(plan::ConversationHead { version, messages: field(id, "messages", messages)? }))
}

/// Parses a number in a head.
pub(super) fn field(id: &MemoryId, name: &str, value: &RawField) -> Result<u64, UnreadableRecord> {
    let number = value.as_deref().and_then(number);
    number.ok_or_else(|| corrupt_head(id, format_args!("its field `{name}` is not a number")))
}

pub(super) fn corrupt_head(id: &MemoryId, reason: impl Display) -> UnreadableRecord {
    UnreadableRecord::corrupt(id, "the head", reason)
}

/// Parses a number strictly: without a sign and without leading zeros.
pub(super) fn number(digits: &[u8]) -> Option<u64> {
    let is_plain =
        digits.iter().all(u8::is_ascii_digit) && (digits == b"0" || !digits.starts_with(b"0"));
    std::str::from_utf8(digits).ok().filter(|_| is_plain)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id() -> MemoryId {
        "klaus".into()
    }

    #[test]
    fn member_is_split_into_number_and_record() {
        let read = rows(&id(), vec![(member(7, "a:b").into_bytes(), 7.0)]).unwrap();
        assert_eq!(read[0].0, 7);
        assert_eq!(read[0].1.as_ref(), b"a:b");
    }

    #[test]
    fn malformed_row_is_corrupt() {
        let malformed =
            [("7:a", 8.0), ("7:a", 7.5), ("7a", 7.0), ("+7:a", 7.0), ("07:a", 7.0), (":", 0.0)];
        for (member, score) in malformed {
            assert!(rows(&id(), vec![(member.into(), score)]).is_err(), "{member}");
        }
        assert!(rows(&id(), vec![(b"\xff:a".to_vec(), f64::NAN)]).is_err());
    }

    #[test]
    fn incomplete_head_is_corrupt() {
        let field = |text: &str| Some(text.as_bytes().to_vec());
        assert_eq!(head(&id(), &None, &None).unwrap(), None);
        let read = head(&id(), &field("7"), &field("0")).unwrap();
        assert_eq!(read, Some(plan::ConversationHead { version: 7, messages: 0 }));
        for (version, messages) in [("0", "0"), ("-1", "0"), ("1", ""), ("1", "01"), ("1 ", "0")] {
            assert!(head(&id(), &field(version), &field(messages)).is_err());
        }
        assert!(head(&id(), &None, &field("0")).is_err());
        assert!(head(&id(), &field("1"), &None).is_err());
        assert!(head(&id(), &field("18446744073709551616"), &field("0")).is_err());
    }
}
