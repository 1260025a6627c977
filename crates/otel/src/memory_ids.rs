//! The representation of memory ids in telemetry.

use sha2::{Digest, Sha256};
use std::fmt::Write;

/// The form in which memory ids are recorded as `gen_ai.conversation.id`.
///
/// Default: [`hashed`](Self::hashed) without a key. Memory ids are often e-mail addresses or customer numbers, and
/// telemetry usually has more readers than the conversations. A hash still groups the calls of one conversation.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum MemoryIds {
    /// The ids as they are.
    Plain,
    /// The first 128 bits of a SHA-256 digest of key and id, as 32 hexadecimal digits.
    ///
    /// Without a secret key, a reader can find out whether a guessed id is the one that was recorded.
    #[non_exhaustive]
    Hashed {
        /// The key. Processes with the same key record the same digest for an id.
        key: Box<str>,
    },
    /// No ids.
    Omitted,
}

impl MemoryIds {
    /// Records digests of the ids with this key.
    #[must_use]
    pub fn hashed(key: impl Into<Box<str>>) -> Self {
        Self::Hashed { key: key.into() }
    }

    /// Returns the recorded form of an id.
    pub(crate) fn recorded(&self, id: &str) -> Option<String> {
        match self {
            Self::Plain => Some(id.to_owned()),
            Self::Hashed { key } => Some(digest(key, id)),
            Self::Omitted => None,
        }
    }
}

impl Default for MemoryIds {
    fn default() -> Self {
        Self::hashed("")
    }
}

/// Does not print the key.
impl std::fmt::Debug for MemoryIds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Plain => "Plain",
            Self::Hashed { .. } => "Hashed",
            Self::Omitted => "Omitted",
        })
    }
}

fn digest(key: &str, id: &str) -> String {
    let mut hash = Sha256::new();
    // The length separates the key from the id.
    hash.update(key.len().to_le_bytes());
    hash.update(key);
    hash.update(id);
    let mut text = String::with_capacity(32);
    for byte in hash.finalize().iter().take(16) {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}
