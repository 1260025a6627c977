//! Names of tools.

/// Maximum length that the model providers accept.
const MAX_LENGTH: usize = 64;

/// Returns whether model providers accept the name.
pub(crate) fn is_valid(name: &str) -> bool {
    let is_allowed = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    (1..=MAX_LENGTH).contains(&name.len()) && name.chars().all(is_allowed)
}
