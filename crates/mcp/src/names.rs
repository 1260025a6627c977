//! Names of tools.

use crate::definition::hex;
use sha2::{Digest, Sha256};

/// Longest name of a tool for a model.
const MAX_NAME: usize = 64;

/// Returns a name that every provider accepts: 1 to 64 characters of `A-Z a-z 0-9 _ -`.
///
/// A longer name is cut and ends with 8 hexadecimal digits of its digest. Any other character becomes `_`.
pub(crate) fn model_name(prefix: Option<&str>, name: &str) -> String {
    let full = prefix.map_or_else(|| name.to_owned(), |prefix| format!("{prefix}__{name}"));
    let mapped: String = full
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' })
        .collect();
    if mapped.len() <= MAX_NAME {
        return mapped;
    }
    let digest = hex(&Sha256::digest(full.as_bytes()));
    let (kept, digits) = (mapped.get(..MAX_NAME - 9), digest.get(..8));
    format!("{}_{}", kept.unwrap_or_default(), digits.unwrap_or_default())
}

/// Returns `true` for a name of a server: 1 to 32 characters of `A-Z a-z 0-9 _ -`.
pub(crate) fn is_server_name(name: &str) -> bool {
    (1..=32).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_mapped_to_the_characters_of_all_providers() {
        assert_eq!(model_name(Some("files"), "read"), "files__read");
        assert_eq!(model_name(None, "a.b c/ü"), "a_b_c__");
    }

    #[test]
    fn long_names_are_cut_and_stay_different() {
        let (one, other) = ("x".repeat(100), format!("{}y", "x".repeat(99)));
        let (one, other) = (model_name(Some("s"), &one), model_name(Some("s"), &other));
        assert_eq!((one.len(), other.len()), (64, 64));
        assert_ne!(one, other);
        assert!(one.starts_with("s__xxxx"));
        assert_eq!(model_name(None, &"x".repeat(64)).len(), 64);
    }
}
