//! Named points at which a crash test aborts the process.
//!
//! A store places them between the steps of a write, so that tests can check that a crash leaves either the
//! old or the new state.

/// Aborts the process, as `kill -9` would, if the environment variable `AI_SERVICES_FAILPOINT` selects this
/// point.
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

/// Counts how often the selected point is reached, and aborts the process at the selected count.
///
/// `AI_SERVICES_FAILPOINT=name:3` aborts the process the third time that the point `name` is reached.
#[cfg(feature = "_failpoints")]
pub fn reached(name: &str) {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    static SELECTED: OnceLock<Option<(String, u64)>> = OnceLock::new();
    static REACHED: AtomicU64 = AtomicU64::new(0);

    let selected = SELECTED.get_or_init(|| {
        let setting = std::env::var("AI_SERVICES_FAILPOINT").ok()?;
        let (name, count) = setting.rsplit_once(':')?;
        Some((name.to_owned(), count.parse().ok()?))
    });
    let Some((selected, count)) = selected else { return };
    if selected == name && REACHED.fetch_add(1, Ordering::Relaxed) + 1 == *count {
        std::process::abort();
    }
}
