//! Points at which the crash harness ends the process.

/// Ends the process here, as `kill -9` would, if the harness asks for it by the name of the point.
///
/// Nothing is left of it without the private feature `_failpoints`.
macro_rules! failpoint {
    ($name:literal) => {
        #[cfg(feature = "_failpoints")]
        $crate::store::failpoint::reached($name);
    };
}
pub(crate) use failpoint;

/// Counts how often the point was reached; `AI_SERVICES_FAILPOINT=name:3` ends the process at the
/// third time.
#[cfg(feature = "_failpoints")]
pub(crate) fn reached(name: &str) {
    use std::sync::atomic::{AtomicU64, Ordering};

    static REACHED: AtomicU64 = AtomicU64::new(0);

    let Ok(wanted) = std::env::var("AI_SERVICES_FAILPOINT") else { return };
    let Some((wanted, times)) = wanted.rsplit_once(':') else { return };
    if wanted == name && times.parse() == Ok(REACHED.fetch_add(1, Ordering::Relaxed) + 1) {
        std::process::abort();
    }
}
