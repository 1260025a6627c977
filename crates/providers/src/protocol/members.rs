//! The beginning of a request: members that are known before its messages.

use serde::Serialize;
use serde_json::{Map, Value};

/// Members of an object, except those that `extra` has too.
///
/// The first one is preceded by the byte that was given, all others by a comma.
pub(crate) struct Members<'a> {
    out: Vec<u8>,
    extra: Option<&'a Map<String, Value>>,
    separator: u8,
}

impl<'a> Members<'a> {
    pub(crate) fn new(extra: Option<&'a Map<String, Value>>, separator: u8) -> Self {
        Self { out: Vec::new(), extra, separator }
    }

    /// Adds a member, if there is a value and `extra` has none of this name.
    pub(crate) fn add(&mut self, name: &str, value: Option<impl Serialize>) {
        if let Some(value) = value
            && !self.extra.is_some_and(|extra| extra.contains_key(name))
        {
            self.write(name, &value);
        }
    }

    /// Adds all members of `extra`.
    pub(crate) fn add_extra(&mut self) {
        for (name, value) in self.extra.into_iter().flatten() {
            self.write(name, value);
        }
    }

    fn write(&mut self, name: &str, value: &impl Serialize) {
        let start = self.out.len();
        self.out.push(self.separator);
        let written = serde_json::to_writer(&mut self.out, name).and_then(|()| {
            self.out.push(b':');
            serde_json::to_writer(&mut self.out, value)
        });
        // Texts, numbers and JSON values can all be written; this only keeps the body well formed.
        match written {
            Ok(()) => self.separator = b',',
            Err(_) => self.out.truncate(start),
        }
    }

    /// What was written.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.out
    }
}
