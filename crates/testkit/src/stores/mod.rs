//! The checks that every store of chat memories has to pass, for a store of your own too.
//!
//! [`StoreSuite::of_memory`] checks the contract of a [`ChatMemoryStore`]: the three methods that
//! have to be written, and [`load`](ChatMemoryStore::load) and [`commit`](ChatMemoryStore::commit),
//! which may be. [`StoreSuite::of_conversations`] checks that of a [`ConversationStore`] as well. What
//! else a store can do is found out or told:
//!
//! | checked | if |
//! |---|---|
//! | messages, ids, eviction, replacement, deletion | always |
//! | versions, conflicts, racing writers | `load` gives a version; a `ConversationStore` must |
//! | lists, counts, times, histories | the store is a `ConversationStore` |
//! | deletion of what is unused | it is [`disposable`](StoreSuite::disposable) too |
//! | leases | [`leases`](ChatMemoryStore::leases) is some |
//! | damaged rows | the suite is told how to [`damage`](StoreSuite::damage) one |
//! | rows of a newer format | the suite is told how to [write one](StoreSuite::newer_format) |
//!
//! Every check uses ids of its own and deletes them afterwards, so the store need not be empty, and
//! several suites may run on it at once. A run makes about 2,000 reads and writes, a few seconds with a
//! local database, and takes a little longer for a message of 10 MB and for leases that have to end.
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
//! let report = StoreSuite::of_memory(MyStore::default()).run().await;
//! assert!(report.is_passed(), "{report}");
//! # }
//! ```
//!
//! A store with more abilities tells the suite about them; `assert_eq!(report.skipped().count(), 0)`
//! then makes sure that nothing was left out:
//!
//! ```
//! use ai_services::memory::{EvictedMessages, InMemoryChatMemoryStore};
//! use ai_services::testing::stores::StoreSuite;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> ai_services::Result<()> {
//! let kept = EvictedMessages::Keep;
//! let store = InMemoryChatMemoryStore::builder().evicted_messages(kept).build()?;
//! let report = StoreSuite::of_conversations(store.clone())
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
mod leases;
mod memory;
mod samples;
mod versions;

pub use super::report::{Check, Outcome, Report};

use super::report::TIME_LIMIT;
use ai_services_core::BoxError;
use ai_services_core::memory::{ChatMemoryStore, ConversationStore, EvictedMessages, MemoryId};
use case::{Case, Verdict};
use futures_util::future::BoxFuture;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// What a test does to a row behind the store's back.
type Hook = Box<dyn Fn(MemoryId) -> BoxFuture<'static, Result<(), BoxError>> + Send + Sync>;

/// The checks for one store.
///
/// See the [module](self) for what is checked, and for an example.
#[must_use = "nothing is checked until `run`"]
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
    /// The checks for a store of the three methods, and for its versions and leases if it has them.
    pub fn of_memory(store: impl ChatMemoryStore + 'static) -> Self {
        Self {
            store: Arc::new(store),
            second: None,
            conversations: None,
            evicted_messages: EvictedMessages::Forget,
            disposable: false,
            damage: None,
            newer_format: None,
            time_limit: TIME_LIMIT,
        }
    }

    /// All checks. The store must have versions.
    pub fn of_conversations(store: impl ConversationStore + 'static) -> Self {
        let store = Arc::new(store);
        Self { conversations: Some(Arc::clone(&store) as _), ..Self::of_memory(store) }
    }

    /// A second handle of the same data, for example on a connection of its own: what one writes the
    /// other must read, and they race with each other.
    pub fn second(mut self, store: impl ChatMemoryStore + 'static) -> Self {
        self.second = Some(Arc::new(store));
        self
    }

    /// What the store is configured to do with messages that a window evicts: to forget them, unless
    /// told.
    pub fn evicted_messages(mut self, evicted_messages: EvictedMessages) -> Self {
        self.evicted_messages = evicted_messages;
        self
    }

    /// Says that nothing in the store is needed and nobody else uses it while the suite runs, other
    /// suites included: [`delete_unused_since`](ConversationStore::delete_unused_since) is checked too,
    /// which deletes whatever is older than the check.
    pub fn disposable(mut self) -> Self {
        self.disposable = true;
        self
    }

    /// How to damage the row of the newest message of a conversation behind the store's back, so that
    /// it cannot be read.
    ///
    /// The conversation has several messages, none of them evicted. Any error fails the check; `?` works
    /// with those of all drivers.
    ///
    /// ```
    /// # use ai_services::memory::ConversationStore;
    /// # use ai_services::testing::stores::StoreSuite;
    /// # fn suite(store: impl ConversationStore + 'static) -> StoreSuite {
    /// StoreSuite::of_conversations(store).damage(|id| async move {
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

    /// How to make the row of the newest message of a conversation one of a newer version of the
    /// row format, behind the store's back.
    pub fn newer_format<F>(mut self, write: impl Fn(MemoryId) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<(), BoxError>> + Send + 'static,
    {
        self.newer_format = Some(Box::new(move |id| Box::pin(write(id))));
        self
    }

    /// How long one check may take before it counts as failed: 120 s by default. A slow server, or one
    /// on a busy machine, may need more.
    ///
    /// ```
    /// # use ai_services::memory::ConversationStore;
    /// # use ai_services::testing::stores::StoreSuite;
    /// # use std::time::Duration;
    /// # fn suite(store: impl ConversationStore + 'static) -> StoreSuite {
    /// StoreSuite::of_conversations(store).time_limit(Duration::from_secs(600))
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
            let case = Case::new(self);
            checks.push(Check::make(name, self.time_limit, check(&case)).await);
            case.clean_up().await;
        }
        Report::new(checks)
    }
}

/// A function with its name.
struct NamedCheck {
    name: &'static str,
    check: for<'a> fn(&'a Case<'a>) -> BoxFuture<'a, Verdict>,
}

/// Lists the checks of a module under the names of their functions.
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
    conversations::CHECKS,
    history::CHECKS,
    leases::CHECKS,
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
