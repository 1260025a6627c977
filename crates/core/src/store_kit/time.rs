//! Conversion of times to the form that stores keep: milliseconds since 1970-01-01 UTC.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Returns the current time in milliseconds. A store writes it to the head with every commit.
pub fn now() -> i64 {
    millis(SystemTime::now())
}

/// Converts a time to milliseconds, for example the argument of `ConversationStore::delete_not_updated_since`.
/// Times before 1970 become 0.
pub fn millis(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// Converts milliseconds to a time, for `Conversation::last_updated`. Negative numbers and numbers that are out
/// of range become 1970-01-01.
pub fn from_millis(millis: i64) -> SystemTime {
    let since = Duration::from_millis(u64::try_from(millis).unwrap_or_default());
    UNIX_EPOCH.checked_add(since).unwrap_or(UNIX_EPOCH)
}
