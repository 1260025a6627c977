//! What is checked before a database is asked.

use crate::error::{Error, Result};
use crate::invocation::check_memory_id;
use crate::memory::MemoryId;

/// The longest id, in bytes.
pub const MAX_ID_BYTES: usize = 8 * 1024;

/// The longest name of a table, a keyspace or a prefix of keys, in bytes: what PostgreSQL leaves
/// of 63 when `_messages` is added, and a little room.
const MAX_NAME_BYTES: usize = 48;

/// Refuses ids that a store does not take.
pub fn check_id(id: &MemoryId) -> Result<()> {
    check_memory_id(id)?;
    match id.as_str().len() {
        0..=MAX_ID_BYTES => Ok(()),
        length => Err(Error::configuration(format!(
            "a memory id has at most {MAX_ID_BYTES} bytes, but this one has {length}"
        ))),
    }
}

/// Refuses names that would have to be quoted: they are part of statements.
pub fn check_name(what: &str, name: &str) -> Result<()> {
    let mut letters = name.bytes();
    let starts = letters.next().is_some_and(|first| first.is_ascii_lowercase() || first == b'_');
    let goes_on = letters.all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
    if starts && goes_on && name.len() <= MAX_NAME_BYTES {
        return Ok(());
    }
    Err(Error::configuration(format!(
        "`{name}` cannot be {what}; use at most {MAX_NAME_BYTES} of `a` to `z`, `0` to `9` and `_`, \
         not beginning with a digit"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_ids_are_refused() {
        assert!(check_id(&"".into()).is_err());
        assert!(check_id(&"x".repeat(MAX_ID_BYTES + 1).into()).is_err());
        assert!(check_id(&"'; DROP TABLE x; --\0".into()).is_ok());
    }

    #[test]
    fn names_need_no_quotes() {
        for name in ["ai_services", "_x", "a1"] {
            assert!(check_name("a table", name).is_ok(), "{name}");
        }
        let long = "x".repeat(MAX_NAME_BYTES + 1);
        for name in ["", "1a", "A", "a b", "a\"", "a;", "ä", &long] {
            assert!(check_name("a table", name).is_err(), "{name}");
        }
    }
}
