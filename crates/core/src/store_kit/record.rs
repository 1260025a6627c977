//! The record format of one message: JSON with a format version and a checksum.
//!
//! ```text
//! {"v":1,"sum":"5d1f9c3a","message":{"type":"USER","contents":[…]}}
//! ```
//!
//! `message` is in the shape of [`messages_to_json`](crate::message::messages_to_json). `sum` is the CRC-32
//! of the conversation's id, the number of the row and the text of `message`, so that changed bytes and rows
//! in the wrong place are detected.

use crate::error::{Error, ErrorKind, Result};
use crate::memory::{MemoryId, UnreadableRecord};
use crate::message::{ChatMessage, read_message};
use crc32fast::Hasher;
use serde::Deserialize;
use serde_json::value::RawValue;

/// Format version of the records that [`encode`] writes, and the newest one that [`decode`] reads.
pub const RECORD_VERSION: u32 = 1;

#[derive(Deserialize)]
struct Envelope<'a> {
    v: u32,
    sum: &'a str,
    #[serde(borrow)]
    message: &'a RawValue,
}

/// The fields that every version of the format has.
#[derive(Deserialize)]
struct Version {
    v: u32,
}

/// Encodes the message of row `number`. The result is valid UTF-8 text.
///
/// [`CommitPlan`](super::plan::CommitPlan) already contains encoded rows; a store calls this only if it
/// writes rows without a plan.
pub fn encode(id: &MemoryId, number: u64, message: &ChatMessage) -> Result<String> {
    let message = serde_json::to_string(message).map_err(|source| {
        Error::new(ErrorKind::Store, "cannot write a message as JSON").with_source(source)
    })?;
    let sum = checksum(id, number, message.as_bytes());
    Ok(format!(r#"{{"v":{RECORD_VERSION},"sum":"{sum:08x}","message":{message}}}"#))
}

/// Decodes the message of row `number`. A store calls it for the rows of a history; [`plan::snapshot`]
/// decodes the rows in memory.
///
/// `data` is the record as raw bytes, so that text damaged into invalid UTF-8 is reported, too.
///
/// # Errors
///
/// Fails if the record is malformed, its checksum does not match, or its format version is newer than
/// [`RECORD_VERSION`].
///
/// [`plan::snapshot`]: super::plan::snapshot
pub fn decode(id: &MemoryId, number: u64, data: &[u8]) -> Result<ChatMessage, UnreadableRecord> {
    let text = message_text(id, number, data)?;
    read_message(text).map_err(|error| corrupt(id, number, &error))
}

/// Checks the record of row `number` without decoding its message. Fails as [`decode`], except that a message
/// that was written with a valid checksum is not parsed.
pub(super) fn verify(id: &MemoryId, number: u64, data: &[u8]) -> Result<(), UnreadableRecord> {
    message_text(id, number, data).map(drop)
}

/// Returns the text of the message, after a check of version and checksum.
fn message_text<'a>(
    id: &MemoryId,
    number: u64,
    data: &'a [u8],
) -> Result<&'a str, UnreadableRecord> {
    if let Some((sum, text)) = split(data)
        && sum == checksum(id, number, text.as_bytes())
    {
        return Ok(text);
    }
    // Written by another program, of another version, or damaged.
    let envelope = match serde_json::from_slice::<Envelope<'_>>(data) {
        Ok(envelope) if envelope.v == RECORD_VERSION => envelope,
        outcome => {
            return Err(match (serde_json::from_slice::<Version>(data), outcome) {
                (Ok(Version { v }), _) if v > RECORD_VERSION => {
                    let row = format_args!("message {number}");
                    UnreadableRecord::newer(id, row, v, RECORD_VERSION)
                }
                (_, Ok(Envelope { v, .. })) => {
                    corrupt(id, number, &format_args!("unknown version {v}"))
                }
                (_, Err(error)) => corrupt(id, number, &error),
            });
        }
    };
    let message = envelope.message.get();
    if u32::from_str_radix(envelope.sum, 16) != Ok(checksum(id, number, message.as_bytes())) {
        return Err(corrupt(id, number, &"the checksum does not match"));
    }
    Ok(message)
}

/// Splits a record in the exact form that [`encode`] writes into checksum and text of the message, without
/// parsing the text as JSON.
fn split(data: &[u8]) -> Option<(u32, &str)> {
    let rest = data.strip_prefix(br#"{"v":1,"sum":""#)?;
    let (sum, rest) = rest.split_at_checked(8)?;
    let text = rest.strip_prefix(br#"","message":"#)?.strip_suffix(b"}")?;
    let sum = u32::from_str_radix(std::str::from_utf8(sum).ok()?, 16).ok()?;
    Some((sum, std::str::from_utf8(text).ok()?))
}

fn corrupt(id: &MemoryId, number: u64, reason: &dyn std::fmt::Display) -> UnreadableRecord {
    UnreadableRecord::corrupt(id, format_args!("message {number}"), reason)
}

fn checksum(id: &MemoryId, number: u64, message: &[u8]) -> u32 {
    let mut hasher = Hasher::new();
    hasher.update(&(id.as_str().len() as u64).to_le_bytes());
    hasher.update(id.as_str().as_bytes());
    hasher.update(&number.to_le_bytes());
    hasher.update(message);
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::UnreadableProblem;

    fn id() -> MemoryId {
        "klaus".into()
    }

    fn record() -> (ChatMessage, String) {
        let message = ChatMessage::user("Grüße, \"Klaus\"\n\0");
        let record = encode(&id(), 7, &message).unwrap();
        (message, record)
    }

    #[test]
    fn record_round_trips() {
        let (message, record) = record();
        assert!(record.starts_with(r#"{"v":1,"sum":""#), "{record}");
        assert_eq!(decode(&id(), 7, record.as_bytes()).unwrap(), message);
    }

    #[test]
    fn record_in_another_form_is_decoded() {
        let (message, record) = record();
        let spaced = record.replace(r#""sum":"#, r#" "sum" : "#);
        assert!(split(record.as_bytes()).is_some() && split(spaced.as_bytes()).is_none());
        assert_eq!(decode(&id(), 7, spaced.as_bytes()).unwrap(), message);
    }

    /// Returns the record of a message in another form than [`encode`] writes.
    fn record_of(message: &str) -> String {
        let sum = checksum(&id(), 7, message.as_bytes());
        format!(r#"{{"v":1,"sum":"{sum:08x}","message":{message}}}"#)
    }

    #[test]
    fn fields_of_a_message_are_read_in_any_order() {
        for message in [
            r#"{"type":"USER","contents":[{"type":"TEXT","text":"a"}]}"#,
            r#"{"contents":[{"text":"a","type":"TEXT"}],"type":"USER","other":[1]}"#,
            r#" {"name":null,"type":"USER","attributes":{},"contents":[{"type":"TEXT","text":"\u0061"}]}"#,
        ] {
            let record = record_of(message);
            assert_eq!(decode(&id(), 7, record.as_bytes()).unwrap(), ChatMessage::user("a"));
        }
    }

    #[test]
    fn message_in_an_unknown_form_is_corrupt() {
        for (message, reason) in [
            (r#"{"type":"NEW"}"#, "unknown variant `NEW`, expected one of `SYSTEM`, `USER`"),
            (r#"{"text":"a"}"#, "missing field `type`"),
            (r#"{"type":"SYSTEM"}"#, "missing field `text`"),
            (r#"{"type":"SYSTEM","text":"a","type":"SYSTEM"}"#, "duplicate field `type`"),
            (r#"{"type":"USER","contents":[{"type":"IMAGE","image":{}}]}"#, "neither `url` nor"),
        ] {
            let error = decode(&id(), 7, record_of(message).as_bytes()).unwrap_err();
            let UnreadableProblem::Corrupt(found) = error.problem else { panic!("{message}") };
            assert!(found.contains(reason), "{message}: {found}");
        }
    }

    #[test]
    fn row_in_the_wrong_place_is_corrupt() {
        let (_, record) = record();
        for (id, number) in [(id(), 8), ("anna".into(), 7)] {
            let error = decode(&id, number, record.as_bytes()).unwrap_err();
            let problem = UnreadableProblem::Corrupt("the checksum does not match".into());
            assert_eq!(error.problem, problem);
            assert_eq!(error.row, format!("message {number}"));
        }
    }

    #[test]
    fn newer_record_requires_an_update() {
        let error = decode(&id(), 7, br#"{"v":2,"something":"else"}"#).unwrap_err();
        assert_eq!(error.problem, UnreadableProblem::Newer { found: 2, supported: 1 });
        assert!(Error::from(error).detail::<UnreadableRecord>().is_some());
    }

    #[test]
    fn every_changed_byte_is_detected_or_harmless() {
        let (message, record) = record();
        for position in 0..record.len() {
            for change in 1..=255 {
                let mut data = record.clone().into_bytes();
                data[position] ^= change;
                let read = decode(&id(), 7, &data);
                assert_eq!(verify(&id(), 7, &data).is_ok(), read.is_ok());
                if let Ok(read) = read {
                    assert_eq!(read, message, "byte {position} ^ {change}");
                }
            }
        }
    }
}
