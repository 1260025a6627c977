//! Random numbers for tokens and ids.

use std::hash::{BuildHasher, RandomState};

/// Returns an unpredictable number, derived from the random keys of the standard library's hash
/// maps.
pub fn random() -> u64 {
    let keys = RandomState::new();
    keys.hash_one((std::process::id(), std::time::SystemTime::now()))
}
