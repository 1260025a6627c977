//! Names of keys.
//!
//! Every key begins with the prefix in braces, a colon and a word. The keys of a conversation end with a
//! colon and the unescaped id. The prefix does not contain braces and the words are fixed, so an id cannot
//! produce another key.

use ai_services_core::memory::MemoryId;
use ai_services_core::{Error, Result};

const MAX_PREFIX_BYTES: usize = 128;

/// The keys of a store.
#[derive(Debug)]
pub(super) struct Keys {
    pub(super) prefix: Box<str>,
    /// Key of the layout version.
    pub(super) schema: String,
    /// Key of the index of listed conversations. All scores are 0, so that they are ordered by their bytes.
    pub(super) ids: String,
    /// Key of the index of all conversations by the time of their last change or append.
    pub(super) used: String,
    /// Key of the index of open journals. All scores are 0.
    pub(super) journals: String,
}

/// The keys of a conversation.
#[derive(Debug)]
pub(super) struct ConversationKeys {
    pub(super) head: String,
    pub(super) messages: String,
    pub(super) history: String,
    pub(super) lease: String,
    pub(super) journal: String,
}

impl Keys {
    pub(super) fn new(prefix: &str) -> Result<Self> {
        let is_invalid = |c: char| c == '{' || c == '}' || c.is_whitespace() || c.is_control();
        if prefix.is_empty() || prefix.len() > MAX_PREFIX_BYTES || prefix.contains(is_invalid) {
            return Err(Error::configuration(format!(
                "`{}` is not a valid `key_prefix`; use 1 to {MAX_PREFIX_BYTES} bytes without braces, \
                 white space and control characters",
                prefix.escape_debug()
            )));
        }
        let key = |word| format!("{{{prefix}}}:{word}");
        let (schema, ids, used) = (key("schema"), key("ids"), key("used"));
        Ok(Self { prefix: prefix.into(), schema, ids, used, journals: key("journals") })
    }

    pub(super) fn of(&self, id: &MemoryId) -> ConversationKeys {
        let key = |word| format!("{{{}}}:{word}:{id}", self.prefix);
        ConversationKeys {
            head: key("head"),
            messages: key("messages"),
            history: key("history"),
            lease: key("lease"),
            journal: key("journal"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ai_services_core::ErrorKind;
    use std::collections::HashSet;

    #[test]
    fn keys_of_hostile_ids_do_not_collide() {
        let keys = Keys::new("a").unwrap();
        let ids = ["x", "head:x", "x}:head:y", "{a}:head:x", ":", "\0", "x\r\n"];
        let indices = [&keys.schema, &keys.ids, &keys.used, &keys.journals];
        let mut seen: HashSet<_> = indices.into_iter().cloned().collect();
        for id in ids {
            let of = keys.of(&id.into());
            for key in [of.head, of.messages, of.history, of.lease, of.journal] {
                assert!(key.starts_with("{a}:"), "{key}");
                assert!(seen.insert(key));
            }
        }
    }

    #[test]
    fn invalid_prefix_is_rejected() {
        assert!(Keys::new("team-7:Grüße").is_ok());
        for prefix in ["", "a b", "{a}", "a\0", "a\n", &"x".repeat(129)] {
            let error = Keys::new(prefix).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Configuration, "{prefix:?}");
        }
    }
}
