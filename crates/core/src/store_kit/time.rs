//! Times as stores keep them: milliseconds since 1970.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Now.
pub fn now() -> i64 {
    millis(SystemTime::now())
}

/// A time as a number. Times before 1970 are 0.
pub fn millis(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// A number as a time. What cannot be a time is 1970.
pub fn from_millis(millis: i64) -> SystemTime {
    let since = Duration::from_millis(u64::try_from(millis).unwrap_or_default());
    UNIX_EPOCH.checked_add(since).unwrap_or(UNIX_EPOCH)
}
