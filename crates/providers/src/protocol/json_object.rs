//! JSON objects written member by member.

use serde::Serialize;
use serde_json::{Map, Value};

/// The members of a JSON object, without the closing brace. Members of `extra` replace those that are
/// added.
pub(crate) struct JsonObject<'a> {
    out: Vec<u8>,
    extra: Option<&'a Map<String, Value>>,
    separator: u8,
}

impl<'a> JsonObject<'a> {
    /// Creates an object without members. `separator` precedes the first member, a comma all others.
    pub(crate) fn new(extra: Option<&'a Map<String, Value>>, separator: u8) -> Self {
        Self { out: Vec::new(), extra, separator }
    }

    /// Adds a member, unless `value` is `None` or `extra` has a member of this name.
    pub(crate) fn add(&mut self, name: &str, value: Option<impl Serialize>) {
        if let Some(value) = value
            && !self.extra.is_some_and(|extra| extra.contains_key(name))
        {
            self.write(name, &value);
        }
    }

    /// Adds the members of `extra`.
    pub(crate) fn add_extra(&mut self) {
        for (name, value) in self.extra.into_iter().flatten() {
            self.write(name, value);
        }
    }

    /// Writes a member.
    fn write(&mut self, name: &str, value: &impl Serialize) {
        let start = self.out.len();
        self.out.push(self.separator);
        let written = serde_json::to_writer(&mut self.out, name).and_then(|()| {
            self.out.push(b':');
            serde_json::to_writer(&mut self.out, value)
        });
        // Strings, numbers and JSON values always serialize. This only keeps the object well-formed.
        match written {
            Ok(()) => self.separator = b',',
            Err(_) => self.out.truncate(start),
        }
    }

    /// Returns the encoded members.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.out
    }
}
