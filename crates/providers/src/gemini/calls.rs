//! Ids of tool calls, because most answers have none.

use std::hash::{BuildHasher, RandomState};

/// The prefix of generated ids.
const PREFIX: &str = "gemini-call-";

/// Generated ids for the calls of one answer, which differ from those of all other answers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ids(u64);

impl Ids {
    pub(super) fn random() -> Self {
        // The system seeds the state, which differs for every value.
        Self(RandomState::new().hash_one(0))
    }

    /// Creates the same ids every time, to compare answers.
    #[cfg(feature = "_fuzzing")]
    pub(super) fn fixed() -> Self {
        Self(0)
    }

    /// Returns the id of the call at this position of the answer.
    pub(super) fn of(self, index: usize) -> String {
        format!("{PREFIX}{:016x}-{index}", self.0)
    }
}

/// Returns whether an id is from the provider.
pub(super) fn is_providers(id: &str) -> bool {
    !id.is_empty() && !id.starts_with(PREFIX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_answers_differ() {
        let (one, other) = (Ids::random(), Ids::random());
        assert!(one.of(0) != one.of(1) && one.of(0) != other.of(0));
        assert!(!is_providers(&one.of(0)) && !is_providers("") && is_providers("call_1"));
        assert!(one.of(100).len() <= 40, "other providers accept no longer ids");
    }
}
