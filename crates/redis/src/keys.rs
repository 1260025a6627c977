//! The names of the keys.
//!
//! All begin with the prefix in braces, a colon and a word; those of a conversation end with a colon
//! and its id as it is. The prefix has no braces and the words are fixed, so no id can make one key
//! look like another.

use ai_services_core::memory::MemoryId;
use ai_services_core::{Error, Result};

const MAX_PREFIX_BYTES: usize = 128;

/// The keys of a store.
#[derive(Debug)]
pub(super) struct Keys {
    pub(super) prefix: Box<str>,
    /// The version of this layout.
    pub(super) schema: String,
    /// All conversations that can be listed, each with the score 0: in the order of their bytes.
    pub(super) ids: String,
    /// All conversations, by the time of their last change.
    pub(super) used: String,
}

/// The keys of a conversation.
#[derive(Debug)]
pub(super) struct ConversationKeys {
    pub(super) head: String,
    pub(super) messages: String,
    pub(super) history: String,
    pub(super) lease: String,
}

impl Keys {
    pub(super) fn new(prefix: &str) -> Result<Self> {
        let odd = |c: char| c == '{' || c == '}' || c.is_whitespace() || c.is_control();
        if prefix.is_empty() || prefix.len() > MAX_PREFIX_BYTES || prefix.contains(odd) {
            return Err(Error::configuration(format!(
                "`{}` cannot be a `key_prefix`; use 1 to {MAX_PREFIX_BYTES} bytes without braces, \
                 white space and control characters",
                prefix.escape_debug()
            )));
        }
        let key = |word| format!("{{{prefix}}}:{word}");
        let (schema, ids, used) = (key("schema"), key("ids"), key("used"));
        Ok(Self { prefix: prefix.into(), schema, ids, used })
    }

    pub(super) fn of(&self, id: &MemoryId) -> ConversationKeys {
        let key = |word| format!("{{{}}}:{word}:{id}", self.prefix);
        ConversationKeys {
            head: key("head"),
            messages: key("messages"),
            history: key("history"),
            lease: key("lease"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ai_services_core::ErrorKind;
    use std::collections::HashSet;

    #[test]
    fn keys_of_hostile_ids_do_not_meet() {
        let keys = Keys::new("a").unwrap();
        let ids = ["x", "head:x", "x}:head:y", "{a}:head:x", ":", "\0", "x\r\n"];
        let mut seen = HashSet::from([keys.schema.clone(), keys.ids.clone(), keys.used.clone()]);
        for id in ids {
            let of = keys.of(&id.into());
            for key in [of.head, of.messages, of.history, of.lease] {
                assert!(key.starts_with("{a}:"), "{key}");
                assert!(seen.insert(key));
            }
        }
    }

    #[test]
    fn odd_prefix_is_refused() {
        assert!(Keys::new("team-7:Grüße").is_ok());
        for prefix in ["", "a b", "{a}", "a\0", "a\n", &"x".repeat(129)] {
            let error = Keys::new(prefix).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Configuration, "{prefix:?}");
        }
    }
}
