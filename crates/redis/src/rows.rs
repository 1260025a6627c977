//! What is stored, read strictly.

use ai_services_core::memory::{MemoryId, UnreadableRecord};
use ai_services_core::store_kit::plan;
use std::fmt::Display;

/// A member of a sorted set with its score, as the driver gives it.
pub(super) type RawRow = (Vec<u8>, f64);

/// A field of a head, as the driver gives it.
pub(super) type RawField = Option<Vec<u8>>;

/// The record behind the number of a member.
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

/// The member of a row. The number makes it unique among its kind.
pub(super) fn member(number: u64, record: &str) -> String {
    format!("{number}:{record}")
}

/// The rows in the order of their scores.
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
        // Exact: numbers stay below 2^53.
        Some(number) if number as f64 == score => Ok((number, Record { member, start: colon + 1 })),
        Some(_) => corrupt("its number differs from its place"),
        None => corrupt("its number is none"),
    }
}

/// The version and the number of messages; `None` if there is no head.
pub(super) fn head(
    id: &MemoryId,
    version: &RawField,
    messages: &RawField,
) -> Result<Option<plan::Head>, UnreadableRecord> {
    if version.is_none() && messages.is_none() {
        return Ok(None);
    }
    let version = field(id, "version", version)?;
    if version == 0 {
        return Err(corrupt_head(id, "its version is 0"));
    }
    Ok(Some(plan::Head { version, messages: field(id, "messages", messages)? }))
}

/// A number in a head.
pub(super) fn field(id: &MemoryId, name: &str, value: &RawField) -> Result<u64, UnreadableRecord> {
    let number = value.as_deref().and_then(number);
    number.ok_or_else(|| corrupt_head(id, format_args!("its field `{name}` is not a number")))
}

pub(super) fn corrupt_head(id: &MemoryId, reason: impl Display) -> UnreadableRecord {
    UnreadableRecord::corrupt(id, "the head", reason)
}

/// A number as this store writes it: no sign, no leading zero.
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
    fn row_is_split() {
        let read = rows(&id(), vec![(member(7, "a:b").into_bytes(), 7.0)]).unwrap();
        assert_eq!(read[0].0, 7);
        assert_eq!(read[0].1.as_ref(), b"a:b");
    }

    #[test]
    fn row_that_was_not_written_so_is_corrupt() {
        let wrong =
            [("7:a", 8.0), ("7:a", 7.5), ("7a", 7.0), ("+7:a", 7.0), ("07:a", 7.0), (":", 0.0)];
        for (member, score) in wrong {
            assert!(rows(&id(), vec![(member.into(), score)]).is_err(), "{member}");
        }
        assert!(rows(&id(), vec![(b"\xff:a".to_vec(), f64::NAN)]).is_err());
    }

    #[test]
    fn head_is_whole_or_corrupt() {
        let field = |text: &str| Some(text.as_bytes().to_vec());
        assert_eq!(head(&id(), &None, &None).unwrap(), None);
        let read = head(&id(), &field("7"), &field("0")).unwrap();
        assert_eq!(read, Some(plan::Head { version: 7, messages: 0 }));
        for (version, messages) in [("0", "0"), ("-1", "0"), ("1", ""), ("1", "01"), ("1 ", "0")] {
            assert!(head(&id(), &field(version), &field(messages)).is_err());
        }
        assert!(head(&id(), &None, &field("0")).is_err());
        assert!(head(&id(), &field("1"), &None).is_err());
        assert!(head(&id(), &field("18446744073709551616"), &field("0")).is_err());
    }
}
