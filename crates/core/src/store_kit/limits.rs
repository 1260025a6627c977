//! Validation of ids and names, for stores of conversations and of embeddings.

use crate::error::{Error, Result};
use crate::invocation::check_memory_id;
use crate::memory::MemoryId;

/// Maximum length of a memory id, in bytes. A store needs a key column that holds an id of this length, or a
/// hash of it.
pub const MAX_ID_BYTES: usize = 8 * 1024;

/// Maximum length of the name of a table, a keyspace or a table prefix, in bytes: PostgreSQL's 63, less a
/// suffix such as `_messages` and a margin.
const MAX_NAME_BYTES: usize = 48;

/// Validates a memory id. A store calls it first in every operation on a conversation.
///
/// # Errors
///
/// Fails if the id is empty or has more than [`MAX_ID_BYTES`] bytes. Any other text is valid, so a store must
/// accept control characters, NUL and quotes.
pub fn check_id(id: &MemoryId) -> Result<()> {
    check_memory_id(id)?;
    match id.as_str().len() {
        0..=MAX_ID_BYTES => Ok(()),
        length => Err(Error::configuration(format!(
            "the memory id has {length} bytes; at most {MAX_ID_BYTES} are allowed"
        ))),
    }
}

/// Validates a name that becomes part of a statement, so that it needs no quotes and cannot inject SQL or
/// CQL.
///
/// A store calls it for the names that its builder receives. `role` completes the message "`name` cannot be
/// …", for example `a table`.
///
/// # Errors
///
/// Returns `ErrorKind::Configuration` unless the name has 1 to 48 of the characters `a` to `z`, `0` to `9`
/// and `_`, and does not begin with a digit.
pub fn check_name(role: &str, name: &str) -> Result<()> {
    let mut letters = name.bytes();
    let starts = letters.next().is_some_and(|first| first.is_ascii_lowercase() || first == b'_');
    let continues = letters.all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
    if starts && continues && name.len() <= MAX_NAME_BYTES {
        return Ok(());
    }
    Err(Error::configuration(format!(
        "`{name}` cannot be {role}; use at most {MAX_NAME_BYTES} characters from `a` to `z`, `0` to `9` \
         and `_`, and do not begin with a digit"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_ids_are_rejected() {
        assert!(check_id(&"".into()).is_err());
        assert!(check_id(&"x".repeat(MAX_ID_BYTES + 1).into()).is_err());
        assert!(check_id(&"'; DROP TABLE x; --\0".into()).is_ok());
    }

    #[test]
    fn names_that_need_quotes_are_rejected() {
        for name in ["ai_services", "_x", "a1"] {
            assert!(check_name("a table", name).is_ok(), "{name}");
        }
        let long = "x".repeat(MAX_NAME_BYTES + 1);
        for name in ["", "1a", "A", "a b", "a\"", "a;", "ä", &long] {
            assert!(check_name("a table", name).is_err(), "{name}");
        }
    }
}
