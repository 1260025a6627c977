//! A cache of loaded conversations.
//!
//! A store with a cache reads what is new since the last load, instead of reading and decoding the whole
//! conversation for every turn. Messages stay shared, so that their token counts and encodings are computed
//! once.
//!
//! Every load makes one consistent read, and returns only a state that this read confirms:
//!
//! - The [log of commits](super::commits::CommitLog) must contain the newest known commit. An entry of the log
//!   has a random number, so that a conversation that was deleted and created again, or restored from a
//!   backup, is not mistaken for the known one. After more than 31 commits by other writers, all rows are read.
//! - Rows do not change after their commit, so evicted rows and new rows are the only differences. The number
//!   of messages in the head and the numbers of the two oldest rows determine the evicted ones. If they do
//!   not, because messages in the middle were replaced, all rows are read.
//! - The newest known row is read again, the other known rows are not. To detect damage to them, all rows are
//!   read from time to time, on average four known rows for each load: by each load of a conversation of up to
//!   four messages, and by every 25th load of a conversation of 100 messages. Until then, the undamaged
//!   messages are returned.
//!
//! # Use in a store
//!
//! ```
//! use ai_services::Result;
//! use ai_services::memory::{Change, MemoryId, Snapshot};
//! use ai_services::store::kit::cache::{
//!     ConversationCache, KnownConversation, StoredConversation, StoredRows,
//! };
//! use ai_services::store::kit::commits::{CommitLog, PendingCommit};
//! use ai_services::store::kit::plan::{CommitPlan, ConversationHead};
//! # use ai_services::message::ChatMessage;
//!
//! struct Store {
//!     cache: ConversationCache,
//!     // A database with one conversation.
//!     head: ConversationHead,
//!     commits: CommitLog,
//!     rows: Vec<(u64, String)>,
//! }
//!
//! impl Store {
//!     async fn load(&self, id: &MemoryId) -> Result<Snapshot> {
//!         let load = |known: Option<KnownConversation>| async move {
//!             let rows = match known.as_ref().and_then(KnownConversation::first_row) {
//!                 None => StoredRows::All(self.rows.clone()),
//!                 Some(first) => StoredRows::Since {
//!                     oldest: self.rows.iter().map(|row| row.0).take(2).collect(),
//!                     rows: self.rows.iter().filter(|row| row.0 >= first).cloned().collect(),
//!                 },
//!             };
//!             let (head, commits) = (Some(self.head), self.commits.clone());
//!             Ok(StoredConversation { head, commits, rows }.decode(id, known.as_ref())?)
//!         };
//!         self.cache.load(id, load).await
//!     }
//! }
//!
//! # async fn example() -> Result<()> {
//! let id = MemoryId::from("ann");
//! let turn = vec![ChatMessage::user("Hi."), ChatMessage::ai("Hello.")];
//! let change = Change::advance(None, 0..0, turn);
//! let plan = CommitPlan::for_advance(&id, 0, &change)?;
//! let Some(plan) = plan else { unreachable!("not a replacement") };
//! let mut commits = CommitLog::default();
//! commits.push(PendingCommit::new(&id, &change).entry(0));
//! let head = ConversationHead { version: plan.version, messages: 2 };
//! let store = Store { cache: ConversationCache::new(1 << 20), head, commits, rows: plan.rows };
//! assert_eq!(store.load(&id).await?.messages(), store.load(&id).await?.messages());
//! # Ok(())
//! # }
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(example()).unwrap();
//! ```

mod entry;
mod loaded;
mod recent;

pub use loaded::{KnownConversation, LoadedConversation, StoredConversation, StoredRows};

use crate::error::{Error, ErrorKind, Result};
use crate::memory::{Change, MemoryId, Snapshot};
use loaded::Outcome;
use recent::Recent;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Default size of the cache of a store: 64 MiB.
pub const DEFAULT_CACHE_BYTES: usize = 64 << 20;

/// The conversations that a store has loaded last, up to a size in bytes.
///
/// The [module](self) describes its guarantees.
pub struct ConversationCache {
    limit: usize,
    recent: Mutex<Recent>,
}

impl ConversationCache {
    /// Creates an empty cache of at most `bytes`, by the estimated size of the messages with one encoding each.
    /// 0 switches the cache off.
    #[must_use]
    pub fn new(bytes: usize) -> Self {
        Self { limit: bytes, recent: Mutex::default() }
    }

    /// Loads a conversation. `read` makes one consistent read of the database, and calls
    /// [`StoredConversation::decode`] with its result. A store with journals adds the position of the open journal
    /// by [`LoadedConversation::with_journal`].
    ///
    /// Calls `read` a second time, without a known conversation, if the known one cannot be brought up to date.
    ///
    /// # Errors
    ///
    /// Returns the errors of `read`. The conversation is then no longer cached.
    ///
    /// # Cancellation
    ///
    /// If the future is dropped, the conversation is no longer cached.
    pub async fn load<F>(
        &self,
        id: &MemoryId,
        read: impl Fn(Option<KnownConversation>) -> F,
    ) -> Result<Snapshot>
    where
        F: Future<Output = Result<LoadedConversation>>,
    {
        // Concurrent loads of the conversation do not share the entry, because it is taken out.
        let mut entry = self.recent().take(id).unwrap_or_default();
        let known = entry.known();
        let mut reads_all = known.as_ref().and_then(KnownConversation::first_row).is_none();
        let mut outcome = read(known).await?.0;
        if matches!(outcome, Outcome::Outdated) {
            reads_all = true;
            outcome = read(None).await?.0;
        }
        let Outcome::Read(read) = outcome else {
            let message = "a read of a whole conversation was not decoded as one";
            return Err(Error::new(ErrorKind::Store, message));
        };
        let (is_hit, decoded, journal) = (read.evicted.is_some(), read.rows.len(), read.journal);
        entry.update(read, reads_all);
        let snapshot = entry.snapshot().with_journal(journal);
        if self.limit > 0 {
            let messages = entry.len();
            tracing::debug!(is_hit, reads_all, messages, decoded, "loaded a cached conversation");
            let removed = self.recent().put(id, entry, self.limit);
            drop(removed);
        }
        Ok(snapshot)
    }

    /// Records a change that was committed. The next load reads its messages, and returns the equal messages of
    /// the change instead, which have their token counts and encodings. Does not keep a replacement, or a change
    /// without a [`CommitPlan`](super::plan::CommitPlan).
    pub fn committed(&self, id: &MemoryId, change: &Change) {
        if self.limit == 0 {
            return;
        }
        let mut recent = self.recent();
        let Some(mut entry) = recent.take(id) else { return };
        entry.keep_committed(change);
        let removed = recent.put(id, entry, self.limit);
        drop(recent);
        drop(removed);
    }

    /// Removes a conversation, to free its memory after it was deleted.
    pub fn remove(&self, id: &MemoryId) {
        let removed = self.recent().take(id);
        drop(removed);
    }

    /// The lock is never held across code that can panic, so the data of a poisoned lock is valid.
    fn recent(&self) -> MutexGuard<'_, Recent> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for ConversationCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConversationCache")
            .field("bytes", &self.limit)
            .field("conversations", &self.recent().len())
            .finish()
    }
}

#[cfg(test)]
mod tests;
