//! Conformance checks for implementations of [`EmbeddingStore`].
//!
//! [`EmbeddingStoreSuite`] checks the contract of [`EmbeddingStore`]: the results of searches and their
//! order, rejected arguments, atomic changes, agreement of filters with
//! [`Filter::accepts`](ai_services_core::embedding::Filter::accepts), and that ids, keys, values and texts
//! are treated as data. The checks of text search are skipped if the store returns
//! [`Unsupported`](ai_services_core::ErrorKind::Unsupported) for it.
//!
//! Every check starts with a new empty store and does not clean it up. All vectors have
//! [`DIMENSIONS`](EmbeddingStoreSuite::DIMENSIONS) dimensions. The search has to be exact: disable an
//! approximate index, or configure it to scan all entries. A run makes about 2,000 reads and writes.
//!
//! The suite runs on any Tokio runtime with time enabled and not paused. It does not catch panics.
//!
//! # Examples
//!
//! ```
//! use ai_services::embedding::InMemoryEmbeddingStore;
//! use ai_services::testing::embedding_stores::EmbeddingStoreSuite;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let suite = EmbeddingStoreSuite::new(|| async { Ok(InMemoryEmbeddingStore::new()) });
//! let report = suite.run().await;
//! assert!(report.is_passed(), "{report}");
//! assert_eq!(report.skipped().count(), 0);
//! # }
//! ```

mod case;
mod concurrency;
mod entries;
mod filters;
mod texts;
mod unusual_values;
mod vectors;

pub use super::report::{Check, Outcome, Report};

use super::report::{CheckResult, TIME_LIMIT, failed};
use ai_services_core::BoxError;
use ai_services_core::embedding::EmbeddingStore;
use case::Case;
use futures_util::future::BoxFuture;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The future of a new store.
type StoreFuture = BoxFuture<'static, Result<Arc<dyn EmbeddingStore>, BoxError>>;

/// The checks for one kind of embedding store.
///
/// The [module](self) describes the checks and has an example.
#[must_use = "the checks do not run until `run` is called"]
pub struct EmbeddingStoreSuite {
    make: Box<dyn Fn() -> StoreFuture + Send + Sync>,
    time_limit: Duration,
}

impl EmbeddingStoreSuite {
    /// Number of dimensions of all vectors in the checks.
    pub const DIMENSIONS: usize = 8;

    /// Creates a suite. `make` returns a new empty store at each call.
    ///
    /// An error of `make` fails the check; `?` converts the errors of all drivers.
    pub fn new<S, F>(make: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        S: EmbeddingStore + 'static,
        F: Future<Output = Result<S, BoxError>> + Send + 'static,
    {
        let make = move || -> StoreFuture {
            let store = make();
            Box::pin(async {
                let store: Arc<dyn EmbeddingStore> = Arc::new(store.await?);
                Ok(store)
            })
        };
        Self { make: Box::new(make), time_limit: TIME_LIMIT }
    }

    /// Sets the time limit of one check, after which it counts as failed. Default: 120 seconds. A slow
    /// server, or a busy machine, may need more.
    ///
    /// ```
    /// # use ai_services::testing::embedding_stores::EmbeddingStoreSuite;
    /// # use std::time::Duration;
    /// # fn slow(suite: EmbeddingStoreSuite) -> EmbeddingStoreSuite {
    /// suite.time_limit(Duration::from_secs(600))
    /// # }
    /// ```
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.time_limit = limit;
        self
    }

    /// Runs all checks, one after the other.
    pub async fn run(&self) -> Report {
        let mut checks = Vec::new();
        for NamedCheck { name, check } in GROUPS.iter().copied().flatten() {
            checks.push(Check::run(name, self.time_limit, self.check(*check)).await);
        }
        Report::new(checks)
    }

    async fn check(&self, check: CheckFn) -> CheckResult {
        let store = (self.make)().await;
        let store = store.map_err(|error| failed(format!("cannot create a store: {error}")))?;
        check(&Case::new(store)).await
    }
}

/// The function of a check.
type CheckFn = for<'a> fn(&'a Case) -> BoxFuture<'a, CheckResult>;

/// A check with its name.
struct NamedCheck {
    name: &'static str,
    check: CheckFn,
}

/// Defines the list of checks of a module, named after their functions.
macro_rules! checks {
    ($($check:ident),* $(,)?) => {
        pub(super) const CHECKS: &[$crate::embedding_stores::NamedCheck] = &[$(
            $crate::embedding_stores::NamedCheck {
                name: stringify!($check),
                check: |case| Box::pin($check(case)),
            },
        )*];
    };
}
use checks;

const GROUPS: &[&[NamedCheck]] = &[
    vectors::CHECKS,
    entries::CHECKS,
    filters::CHECKS,
    texts::CHECKS,
    unusual_values::CHECKS,
    concurrency::CHECKS,
];

impl fmt::Debug for EmbeddingStoreSuite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmbeddingStoreSuite").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod faulty_tests;
#[cfg(test)]
mod tests;
