//! Conformance checks for implementations of [`ChatMemoryStore`] and [`ConversationStore`].
//!
//! [`StoreSuite::for_memory_store`] checks the contract of a [`ChatMemoryStore`]: the three required methods, and
//! the provided methods [`load`](ChatMemoryStore::load) and [`commit`](ChatMemoryStore::commit).
//! [`StoreSuite::for_conversation_store`] also checks the contract of a [`ConversationStore`]. Other abilities of a
//! store are detected or configured:
//!
//! | checked | if |
//! |---|---|
//! | messages, ids, eviction, replacement, deletion | always |
//! | versions, conflicts, concurrent writers | `load` returns a version; required for a `ConversationStore` |
//! | requests: found behind 31 others, and committed once | [`commit_state`](ChatMemoryStore::commit_state) is implemented; required for a `ConversationStore` |
//! | lists, counts, times, histories | the store is a `ConversationStore` |
//! | deletion of unused conversations | the store is a `ConversationStore` and [`disposable`](StoreSuite::disposable) |
//! | leases | [`leases`](ChatMemoryStore::leases) returns `Some` |
//! | journals of open turns | [`journals`](ChatMemoryStore::journals) returns `Some` |
//! | damaged rows | [`damage`](StoreSuite::damage) is set |
//! | rows of a newer format | [`newer_format`](StoreSuite::newer_format) is set |
//!
//! Every check uses unique ids and deletes them afterwards, so the store need not be empty, and several
//! suites may run on it concurrently. A run makes about 2,000 reads and writes, which take a few seconds with
//! a local database, plus the time for a message of 10 MB and for leases that have to expire.
//!
//! The suite runs on any Tokio runtime with time enabled and not paused. It does not catch panics.
//!
//! # Examples
//!
//! ```
//! use ai_services::memory::{ChatMemoryStore, MemoryId};
//! use ai_services::message::ChatMessage;
//! use ai_services::testing::stores::StoreSuite;
//! use ai_services::{Result, async_trait};
//! use std::collections::HashMap;
//! use std::sync::Mutex;
//!
//! #[derive(Default)]
//! struct MyStore(Mutex<HashMap<MemoryId, Vec<ChatMessage>>>);
//!
//! #[async_trait]
//! impl ChatMemoryStore for MyStore {
//!     async fn get_messages(&self, id: &MemoryId) -> Result<Vec<ChatMessage>> {
//!         Ok(self.0.lock().unwrap().get(id).cloned().unwrap_or_default())
//!     }
//!
//!     async fn update_messages(&self, id: &MemoryId, messages: &[ChatMessage]) -> Result<()> {
//!         self.0.lock().unwrap().insert(id.clone(), messages.to_vec());
//!         Ok(())
//!     }
//!
//!     async fn delete_messages(&self, id: &MemoryId) -> Result<()> {
//!         self.0.lock().unwrap().remove(id);
//!         Ok(())
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let report = StoreSuite::for_memory_store(MyStore::default()).run().await;
//! assert!(report.is_passed(), "{report}");
//! # }
//! ```
//!
//! A store with more abilities sets the options of the suite; `assert_eq!(report.skipped().count(), 0)`
//! then verifies that no check was skipped:
//!
//! ```
//! use ai_services::memory::{EvictedMessages, InMemoryChatMemoryStore};
//! use ai_services::testing::stores::StoreSuite;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> ai_services::Result<()> {
//! let kept = EvictedMessages::Keep;
//! let store = InMemoryChatMemoryStore::builder().evicted_messages(kept).build()?;
//! let report = StoreSuite::for_conversation_store(store.clone())
//!     .evicted_messages(kept)
//!     .second(store)
//!     .disposable()
//!     .run()
//!     .await;
//! assert!(report.is_passed(), "{report}");
//! # Ok(())
//! # }
//! ```

mod case;
mod conversations;
mod damage;
mod history;
mod journals;
mod leases;
mod memory;
mod requests;
mod samples;
mod versions;

pub use super::report::{Check, Outcome, Report};

use super::report::TIME_LIMIT;
use ai_services_core::BoxError;
use ai_services_core::memory::{ChatMemoryStore, ConversationStore, EvictedMessages, MemoryId};
use case::{Case, CheckResult};
use futures_util::future::BoxFuture;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A function that changes a row without using the store.
type Hook = Box<dyn Fn(MemoryId) -> BoxFuture<'static, Result<(), BoxError>> + Send + Sync>;

/// The checks for one store.
///
/// The [module](self) describes the checks and has an example.
#[must_use = "the checks do not run until `run` is called"]
pub struct StoreSuite {
    store: Arc<dyn ChatMemoryStore>,
    second: Option<Arc<dyn ChatMemoryStore>>,
    conversations: Option<Arc<dyn ConversationStore>>,
    evicted_messages: EvictedMessages,
    disposable: bool,
    damage: Option<Hook>,
    newer_format: Option<Hook>,
    time_limit: Duration,
}

impl StoreSuite {
    /// Creates a suite for a [`ChatMemoryStore`], including its versions and leases if it has them.
    pub fn for_memory_store(store: impl ChatMemoryStore + 'static) -> Self {
        Self {
            store: Arc::new(store),
            second: None,
            conversations: None,
            evicted_messages: EvictedMessages::Delete,
            disposable: false,
            damage: None,
            newer_format: None,
            time_limit: TIME_LIMIT,
        }
    }

    /// Creates a suite with all checks, for a [`ConversationStore`]. The store must have versions.
    pub fn for_conversation_store(store: impl ConversationStore + 'static) -> Self {
        let store = Arc::new(store);
        Self { conversations: Some(Arc::clone(&store) as _), ..Self::for_memory_store(store) }
    }

    /// Sets a second handle of the same data, for example with a separate connection. Each handle must read
    /// the writes of the other, and concurrent checks use both.
    pub fn second(mut self, store: impl ChatMemoryStore + 'static) -> Self {
        self.second = Some(Arc::new(store));
        self
    }

    /// Sets the treatment of evicted messages that the store is configured with. Default:
    /// [`EvictedMessages::Delete`].
    pub fn evicted_messages(mut self, evicted_messages: EvictedMessages) -> Self {
        self.evicted_messages = evicted_messages;
        self
    }

    /// Declares that the data in the store may be deleted and that the store has no other users, including
    /// other suites, while the suite runs. The suite then also checks
    /// [`delete_not_updated_since`](ConversationStore::delete_not_updated_since), which deletes all conversations that
    /// are older than the check.
    pub fn disposable(mut self) -> Self {
        self.disposable = true;
        self
    }

    /// Sets a function that damages the row of the newest message of a conversation without using the store,
    /// so that the row cannot be read.
    ///
    /// The conversation has several messages, none of them evicted. An error of the function fails the check;
    /// `?` converts the errors of all drivers.
    ///
    /// ```
    /// # use ai_services::memory::ConversationStore;
    /// # use ai_services::testing::stores::StoreSuite;
    /// # fn suite(store: impl ConversationStore + 'static) -> StoreSuite {
    /// StoreSuite::for_conversation_store(store).damage(|id| async move {
    ///     std::fs::write(format!("conversations/{id}/newest.json"), "{")?;
    ///     Ok(())
    /// })
    /// # }
    /// ```
    pub fn damage<F>(mut self, damage: impl Fn(MemoryId) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<(), BoxError>> + Send + 'static,
    {
        self.damage = Some(Box::new(move |id| Box::pin(damage(id))));
        self
    }

    /// Sets a function that changes the row of the newest message of a conversation to a newer version of the
    /// row format, without using the store.
    pub fn newer_format<F>(mut self, write: impl Fn(MemoryId) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<(), BoxError>> + Send + 'static,
    {
        self.newer_format = Some(Box::new(move |id| Box::pin(write(id))));
        self
    }

    /// Sets the time limit of one check, after which it counts as failed. Default: 120 seconds. A slow
    /// server, or a busy machine, may need more.
    ///
    /// ```
    /// # use ai_services::memory::ConversationStore;
    /// # use ai_services::testing::stores::StoreSuite;
    /// # use std::time::Duration;
    /// # fn suite(store: impl ConversationStore + 'static) -> StoreSuite {
    /// StoreSuite::for_conversation_store(store).time_limit(Duration::from_secs(600))
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
            let case = Case::new(self);
            checks.push(Check::run(name, self.time_limit, check(&case)).await);
            case.clean_up().await;
        }
        Report::new(checks)
    }
}

/// A check with its name.
struct NamedCheck {
    name: &'static str,
    check: for<'a> fn(&'a Case<'a>) -> BoxFuture<'a, CheckResult>,
}

/// Defines the list of checks of a module, named after their functions.
macro_rules! checks {
    ($($check:ident),* $(,)?) => {
        pub(super) const CHECKS: &[$crate::stores::NamedCheck] = &[$(
            $crate::stores::NamedCheck {
                name: stringify!($check),
                check: |case| Box::pin($check(case)),
            },
        )*];
    };
}
use checks;

const GROUPS: &[&[NamedCheck]] = &[
    memory::CHECKS,
    versions::CHECKS,
    requests::CHECKS,
    conversations::CHECKS,
    history::CHECKS,
    leases::CHECKS,
    journals::APPENDS,
    journals::COMMITS,
    journals::LISTS,
    damage::CHECKS,
];

impl fmt::Debug for StoreSuite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreSuite")
            .field("conversations", &self.conversations.is_some())
            .field("second", &self.second.is_some())
            .field("evicted_messages", &self.evicted_messages)
            .field("disposable", &self.disposable)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod faulty_tests;
#[cfg(test)]
mod tests;
