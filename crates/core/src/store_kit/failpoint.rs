//! Points at which the crash harness ends the process.

/// Ends the process here, as `kill -9` would, if the harness asks for it by the name of the point.
///
/// Does nothing without the private feature `_failpoints`.
#[cfg(feature = "_failpoints")]
#[macro_export]
#[doc(hidden)]
macro_rules! __failpoint {
    ($name:literal) => {
        $crate::store_kit::failpoint::reached($name);
    };
}

/// Does nothing without the private feature `_failpoints`.
#[cfg(not(feature = "_failpoints"))]
#[macro_export]
#[doc(hidden)]
macro_rules! __failpoint {
    ($name:literal) => {};
}

pub use __failpoint as failpoint;

/// Counts how often the point was reached; `AI_SERVICES_FAILPOINT=name:3` ends the process at the
/// third time.
#[cfg(feature = "_failpoints")]
pub fn reached(name: &str) {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    static WANTED: OnceLock<Option<(String, u64)>> = OnceLock::new();
    static REACHED: AtomicU64 = AtomicU64::new(0);

    let wanted = WANTED.get_or_init(|| {
        let wanted = std::env::var("AI_SERVICES_FAILPOINT").ok()?;
        let (name, times) = wanted.rsplit_once(':')?;
        Some((name.to_owned(), times.parse().ok()?))
    });
    let Some((wanted, times)) = wanted else { return };
    if wanted == name && REACHED.fetch_add(1, Ordering::Relaxed) + 1 == *times {
        std::process::abort();
    }
}
