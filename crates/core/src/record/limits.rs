//! Limits on the size of a record.

use crate::error::{Error, Result};
use crate::redaction::Redaction;
use serde_json::Value;

/// Texts are not cut below this length, in bytes.
const SHORTEST: usize = 256;

/// Limits on the size of a record, in bytes.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    pub(super) field: usize,
    pub(super) record: usize,
}

impl Limits {
    /// Returns the line of a record, without secrets and within the limits.
    pub(super) fn line(self, mut record: Value, redaction: &Redaction) -> Result<String> {
        redaction.line(&mut record);
        let mut field = self.field.max(SHORTEST);
        loop {
            cut(&mut record, field);
            let line = record.to_string();
            if line.len() <= self.record {
                return Ok(line);
            }
            if field == SHORTEST {
                return self.without_steps(record);
            }
            field = (field / 4).max(SHORTEST);
        }
    }

    /// Returns the line of a record with too many steps, without its steps.
    fn without_steps(self, mut record: Value) -> Result<String> {
        let too_large =
            || Error::configuration(format!("the record has more than {} bytes", self.record));
        let members = record.as_object_mut().ok_or_else(too_large)?;
        let steps = members.remove("steps").and_then(|steps| Some(steps.as_array()?.len()));
        let omitted = members.get("omitted_steps").and_then(Value::as_u64).unwrap_or(0);
        let omitted = omitted.saturating_add(steps.unwrap_or(0) as u64);
        members
            .insert("omitted_steps".to_owned(), u32::try_from(omitted).unwrap_or(u32::MAX).into());
        let line = record.to_string();
        if line.len() <= self.record { Ok(line) } else { Err(too_large()) }
    }
}

/// Cuts the texts of a value that have more than `max` bytes. Media lose their data.
fn cut(value: &mut Value, max: usize) {
    match value {
        Value::String(text) if text.len() > max => {
            let size = text.len();
            let end = (0..=max).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
            text.truncate(end);
            text.push_str(&format!("… [{size} bytes]"));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| cut(item, max)),
        Value::Object(members) => {
            for (name, member) in members.iter_mut() {
                match member {
                    // The data of media are Base64, also in part.
                    Value::String(data) if name == "base64Data" && data.len() > max => data.clear(),
                    member => cut(member, max),
                }
            }
        }
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
