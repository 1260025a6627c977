//! The checks that every embedding store has to pass, for a store of your own too.
//!
//! [`EmbeddingStoreSuite`] checks what [`EmbeddingStore`] promises: what is found and in which order, what is
//! refused, that changes are made as a whole, that filters mean the same as
//! [`Filter::accepts`](ai_services_core::embedding::Filter::accepts), and that ids, keys, values and texts are data. The
//! search by words is checked if the store has one, and skipped if it is
//! [`Unsupported`](ai_services_core::ErrorKind::Unsupported).
//!
//! Every check begins with an empty store of its own, which it leaves as it happens to be. All vectors have
//! [`DIMENSIONS`](EmbeddingStoreSuite::DIMENSIONS) numbers. The search has to be exact: an approximate
//! index has to be switched off, or set to look at everything. A run makes about 2,000 reads and writes.
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
mod odd;
mod texts;
mod vectors;

pub use super::report::{Check, Outcome, Report};

use super::report::{TIME_LIMIT, Verdict, failed};
use ai_services_core::BoxError;
use ai_services_core::embedding::EmbeddingStore;
use case::Case;
use futures_util::future::BoxFuture;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A store that is being made.
type Made = BoxFuture<'static, Result<Arc<dyn EmbeddingStore>, BoxError>>;

/// The checks for one kind of embedding store.
///
/// See the [module](self) for what is checked, and for an example.
#[must_use = "nothing is checked until `run`"]
pub struct EmbeddingStoreSuite {
    make: Box<dyn Fn() -> Made + Send + Sync>,
    time_limit: Duration,
}

impl EmbeddingStoreSuite {
    /// How many numbers the vectors of the checks have.
    pub const DIMENSIONS: usize = 8;

    /// The checks for the stores that `make` makes, an empty one at each call.
    ///
    /// Any error fails the check; `?` works with those of all drivers.
    pub fn new<S, F>(make: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        S: EmbeddingStore + 'static,
        F: Future<Output = Result<S, BoxError>> + Send + 'static,
    {
        let make = move || -> Made {
            let made = make();
            Box::pin(async {
                let store: Arc<dyn EmbeddingStore> = Arc::new(made.await?);
                Ok(store)
            })
        };
        Self { make: Box::new(make), time_limit: TIME_LIMIT }
    }

    /// How long one check may take before it counts as failed: 120 s by default. A slow server, or one
    /// on a busy machine, may need more.
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

    /// Makes the checks, one after the other.
    pub async fn run(&self) -> Report {
        let mut checks = Vec::new();
        for NamedCheck { name, check } in GROUPS.iter().copied().flatten() {
            checks.push(Check::make(name, self.time_limit, self.check(*check)).await);
        }
        Report::new(checks)
    }

    async fn check(&self, check: Checked) -> Verdict {
        let made = (self.make)().await;
        let store = made.map_err(|error| failed(format!("no store could be made: {error}")))?;
        check(&Case::new(store)).await
    }
}

/// A check as a function.
type Checked = for<'a> fn(&'a Case) -> BoxFuture<'a, Verdict>;

/// A function with its name.
struct NamedCheck {
    name: &'static str,
    check: Checked,
}

/// Lists the checks of a module under the names of their functions.
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
    odd::CHECKS,
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
