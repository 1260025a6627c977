//! Ids of tool calls, which the API mostly does not give.

use std::hash::{BuildHasher, RandomState};

/// How ids begin that were made here.
const PREFIX: &str = "gemini-call-";

/// Ids for the calls of one answer to which the provider gave none: unlike those of any other answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ids(u64);

impl Ids {
    pub(super) fn random() -> Self {
        // The state is seeded by the system and differs at every call.
        Self(RandomState::new().hash_one(0))
    }

    /// The same at every time, to compare answers.
    #[cfg(feature = "_fuzzing")]
    pub(super) fn fixed() -> Self {
        Self(0)
    }

    /// The id of the call at this place of the answer.
    pub(super) fn of(self, index: usize) -> String {
        format!("{PREFIX}{:016x}-{index}", self.0)
    }
}

/// Whether the provider knows this id.
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
        assert!(one.of(100).len() <= 40, "other providers take no longer ones");
    }
}
