//! An in-memory store for many conversations.

use super::conversation::check_limit;
use super::slot::Slot;
use super::{
    Change, ChatMemoryStore, CommitState, Conversation, ConversationStore, EvictedMessages,
    HistoryEntry, HistoryPosition, JournalPosition, LeaseToken, MemoryId, OpenJournal, RawRecord,
    RequestId, Snapshot, TurnJournal, TurnJournals, journal_moved,
};
use crate::error::{Error, ErrorKind, Result};
use crate::invocation::check_memory_id as check_id;
use crate::message::{ChatMessage, messages_to_json};
use async_trait::async_trait;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

/// Number of locks of an unbounded store. Conversations in different shards do not block each
/// other.
const SHARDS: usize = 32;

/// A store that keeps messages in the memory of the process.
///
/// Clones share one store. Loading a conversation copies a pointer, and a turn changes the list in
/// place. All conversations are lost when the process ends. Without a bound, conversations stay
/// until they are deleted; see
/// [`max_conversations`](InMemoryChatMemoryStoreBuilder::max_conversations).
///
/// # Examples
///
/// ```
/// use ai_services::memory::{
///     ChatMemory, InMemoryChatMemoryStore, MemoryId, MessageWindowChatMemory,
/// };
/// use ai_services::message::ChatMessage;
///
/// # async fn example() -> ai_services::Result<()> {
/// let store = InMemoryChatMemoryStore::new();
/// let memory_of = {
///     let store = store.clone();
///     move |id: &MemoryId| {
///         MessageWindowChatMemory::builder().id(id).max_messages(20).store(store.clone()).build()
///     }
/// };
/// memory_of(&"klaus".into())?.add(ChatMessage::user("Hello!")).await?;
/// memory_of(&"anna".into())?.add(ChatMessage::user("Hi!")).await?;
/// assert_eq!(memory_of(&"klaus".into())?.messages().await?, [ChatMessage::user("Hello!")]);
/// assert_eq!(store.len(), 2);
/// # Ok(())
/// # }
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(example()).unwrap();
/// ```
#[derive(Clone)]
pub struct InMemoryChatMemoryStore(Arc<StoreState>);

struct StoreState {
    shards: Box<[Mutex<Shard>]>,
    hasher: RandomState,
    /// The last version of any conversation. Versions are never reused, so a conversation that was
    /// deleted and started again never has a version of the old one.
    version: AtomicU64,
    bound: Option<NonZeroUsize>,
    evicted_messages: EvictedMessages,
}

#[derive(Default)]
struct Shard {
    slots: HashMap<MemoryId, Entry>,
    /// The conversations by last use. Only filled if the store is bounded.
    by_use: BTreeMap<u64, MemoryId>,
    uses: u64,
}

#[derive(Default)]
struct Entry {
    slot: Slot,
    /// The value of the shard's `uses` counter at the last use.
    used: u64,
}

impl InMemoryChatMemoryStore {
    /// Creates an empty store without a bound.
    #[must_use]
    pub fn new() -> Self {
        Self::with(None, EvictedMessages::Delete)
    }

    /// Starts building a store, for example with a bound.
    pub fn builder() -> InMemoryChatMemoryStoreBuilder {
        InMemoryChatMemoryStoreBuilder::default()
    }

    fn with(bound: Option<NonZeroUsize>, evicted_messages: EvictedMessages) -> Self {
        // Finding the least recently used conversation of the whole store requires a single lock.
        let shards = if bound.is_some() { 1 } else { SHARDS };
        Self(Arc::new(StoreState {
            shards: std::iter::repeat_with(Mutex::default).take(shards).collect(),
            hasher: RandomState::new(),
            version: AtomicU64::new(0),
            bound,
            evicted_messages,
        }))
    }

    /// Returns the number of conversations.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.shards.iter().map(|shard| lock(shard).slots.len()).sum()
    }

    /// Returns `true` if the store has no conversations.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn describe(&self, id: &MemoryId) -> Result<Option<Conversation>> {
        let shard = self.shard(id)?;
        let entry = shard.slots.get(id).filter(|entry| !entry.slot.is_empty());
        Ok(entry.map(|Entry { slot, .. }| {
            Conversation::new(id.clone(), slot.messages().len() as u64, slot.last_commit())
        }))
    }

    /// Changes the slot of an id. A new slot is kept if the change succeeds.
    fn change<T>(&self, id: &MemoryId, change: impl FnOnce(&mut Slot) -> Result<T>) -> Result<T> {
        check_id(id)?;
        let mut shard = self.shard(id)?;
        let changed = match shard.slots.get_mut(id) {
            Some(entry) => change(&mut entry.slot)?,
            None => {
                let mut entry = Entry::default();
                let changed = change(&mut entry.slot)?;
                shard.slots.insert(id.clone(), entry);
                changed
            }
        };
        if let Some(bound) = self.0.bound {
            shard.touch(id);
            let evicted = shard.evict(bound);
            // Drop the messages after the lock is released.
            drop(shard);
            drop(evicted);
        }
        Ok(changed)
    }

    fn shard(&self, id: &MemoryId) -> Result<MutexGuard<'_, Shard>> {
        let shards = &self.0.shards;
        let index = match shards.len() {
            1 => 0,
            shards => self.0.hasher.hash_one(id) as usize % shards,
        };
        // The index is always in bounds, so this error cannot occur.
        let shard = shards.get(index).ok_or_else(|| Error::new(ErrorKind::Store, "no such shard"));
        shard.map(lock)
    }
}

/// Locks a shard. The lock is never held across code that can panic, so the data of a poisoned lock
/// is valid.
fn lock(shard: &Mutex<Shard>) -> MutexGuard<'_, Shard> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shard {
    /// Marks a conversation as the most recently used.
    fn touch(&mut self, id: &MemoryId) {
        let Some(entry) = self.slots.get_mut(id) else { return };
        self.uses += 1;
        let id = self.by_use.remove(&entry.used).unwrap_or_else(|| id.clone());
        entry.used = self.uses;
        self.by_use.insert(self.uses, id);
    }

    fn remove(&mut self, id: &MemoryId) -> Option<Slot> {
        let entry = self.slots.remove(id)?;
        self.by_use.remove(&entry.used);
        Some(entry.slot)
    }

    /// Removes the least recently used conversations above the bound.
    fn evict(&mut self, bound: NonZeroUsize) -> Vec<Slot> {
        let too_many = self.slots.len().saturating_sub(bound.get());
        let oldest: Vec<MemoryId> = self.by_use.values().take(too_many).cloned().collect();
        oldest.iter().filter_map(|id| self.remove(id)).collect()
    }
}

#[async_trait]
impl ChatMemoryStore for InMemoryChatMemoryStore {
    async fn get_messages(&self, id: &MemoryId) -> Result<Vec<ChatMessage>> {
        Ok(self.load(id).await?.messages().to_vec())
    }

    async fn update_messages(&self, id: &MemoryId, messages: &[ChatMessage]) -> Result<()> {
        self.commit(id, Change::replace(None, messages.iter().cloned().collect())).await
    }

    async fn delete_messages(&self, id: &MemoryId) -> Result<()> {
        let removed = self.shard(id)?.remove(id);
        // Drop the messages after the lock is released.
        drop(removed);
        Ok(())
    }

    async fn load(&self, id: &MemoryId) -> Result<Snapshot> {
        let mut shard = self.shard(id)?;
        if self.0.bound.is_some() {
            shard.touch(id);
        }
        let known = shard.slots.get(id).map(|entry| entry.slot.snapshot());
        Ok(known.unwrap_or_else(|| Slot::default().snapshot()))
    }

    async fn commit(&self, id: &MemoryId, change: Change) -> Result<()> {
        let policy = self.0.evicted_messages;
        let version = self.0.version.fetch_add(1, Ordering::Relaxed) + 1;
        self.change(id, |slot| slot.commit(id, change, version, policy))
    }

    async fn commit_state(&self, id: &MemoryId, request: &RequestId) -> Result<CommitState> {
        let shard = self.shard(id)?;
        let entry = shard.slots.get(id);
        Ok(entry.map_or(CommitState::NotFound, |entry| entry.slot.commit_state(request)))
    }

    fn journals(&self) -> Option<&dyn TurnJournals> {
        Some(self)
    }
}

#[async_trait]
impl TurnJournals for InMemoryChatMemoryStore {
    async fn journal(&self, id: &MemoryId) -> Result<Option<TurnJournal>> {
        let shard = self.shard(id)?;
        Ok(shard.slots.get(id).and_then(|entry| entry.slot.journal()))
    }

    /// There are no leases: `lease` is ignored.
    async fn append(
        &self,
        id: &MemoryId,
        position: JournalPosition,
        records: &[String],
        _lease: Option<LeaseToken>,
    ) -> Result<JournalPosition> {
        self.change(id, |slot| slot.append(id, position, records))
    }

    async fn discard(&self, id: &MemoryId, position: JournalPosition) -> Result<()> {
        let mut shard = self.shard(id)?;
        let entry = shard.slots.get_mut(id).ok_or_else(|| journal_moved(id))?;
        entry.slot.discard_journal(id, position)?;
        if entry.slot.is_unused() {
            shard.remove(id);
        }
        Ok(())
    }

    /// Sorted by id. Each page scans all ids.
    async fn open_journals(
        &self,
        after: Option<&MemoryId>,
        limit: usize,
    ) -> Result<Vec<OpenJournal>> {
        let limit = check_limit(limit)?;
        let mut open = Vec::new();
        for shard in &self.0.shards {
            let shard = lock(shard);
            let behind = shard.slots.iter().filter(|(id, _)| after < Some(*id));
            open.extend(behind.filter_map(|(id, entry)| entry.slot.open_journal(id)));
        }
        open.sort_unstable_by(|one, other| one.id.cmp(&other.id));
        open.truncate(limit);
        Ok(open)
    }
}

#[async_trait]
impl ConversationStore for InMemoryChatMemoryStore {
    /// Sorted by id. Each page scans all ids.
    async fn conversations(
        &self,
        after: Option<&MemoryId>,
        limit: usize,
    ) -> Result<Vec<Conversation>> {
        let limit = check_limit(limit)?;
        let mut ids = Vec::new();
        for shard in &self.0.shards {
            let shard = lock(shard);
            let known = shard.slots.iter().filter(|(_, entry)| !entry.slot.is_empty());
            ids.extend(known.map(|(id, _)| id).filter(|id| after < Some(*id)).cloned());
        }
        ids.sort_unstable();
        ids.truncate(limit);
        let known = ids.into_iter().map(|id| self.describe(&id));
        known.filter_map(Result::transpose).collect()
    }

    async fn conversation(&self, id: &MemoryId) -> Result<Option<Conversation>> {
        self.describe(id)
    }

    async fn delete_not_updated_since(&self, time: SystemTime) -> Result<u64> {
        let mut deleted = 0;
        for shard in &self.0.shards {
            let mut shard = lock(shard);
            let old = shard.slots.iter().filter(|(_, entry)| entry.slot.last_write() < time);
            let old: Vec<MemoryId> = old.map(|(id, _)| id.clone()).collect();
            let slots: Vec<_> = old.iter().filter_map(|id| shard.remove(id)).collect();
            // Drop the messages after the lock is released.
            drop(shard);
            deleted += slots.len() as u64;
        }
        Ok(deleted)
    }

    async fn history(
        &self,
        id: &MemoryId,
        position: HistoryPosition,
        limit: usize,
    ) -> Result<Vec<HistoryEntry>> {
        let limit = check_limit(limit)?;
        let shard = self.shard(id)?;
        let entry = shard.slots.get(id);
        Ok(entry.map(|entry| entry.slot.history(position, limit)).unwrap_or_default())
    }

    /// Returns the messages as JSON, because the store has no rows, and the records of the open journal.
    async fn export_raw(&self, id: &MemoryId) -> Result<Vec<RawRecord>> {
        let entries = self.history(id, HistoryPosition::Oldest, usize::MAX).await?;
        let message = |entry: &HistoryEntry| {
            let json = messages_to_json([&entry.message])?;
            Ok(RawRecord::new(format!("message {}", entry.position), json))
        };
        let records = self.journal(id).await?.map(|journal| journal.records).unwrap_or_default();
        let record = |(number, record)| Ok(RawRecord::new(format!("record {number}"), record));
        entries.iter().map(message).chain((1..).zip(records).map(record)).collect()
    }
}

impl Default for InMemoryChatMemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for InMemoryChatMemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InMemoryChatMemoryStore")
            .field("conversations", &self.len())
            .field("max_conversations", &self.0.bound)
            .finish()
    }
}

/// Builds an [`InMemoryChatMemoryStore`].
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct InMemoryChatMemoryStoreBuilder {
    bound: Option<usize>,
    evicted_messages: EvictedMessages,
}

impl InMemoryChatMemoryStoreBuilder {
    /// Sets the maximum number of conversations. At least 1. Beyond it, the least recently used
    /// conversation is deleted. Default: no limit.
    pub fn max_conversations(mut self, bound: usize) -> Self {
        self.bound = Some(bound);
        self
    }

    /// Sets the policy for messages that a window evicts. Default: [`EvictedMessages::Delete`].
    pub fn evicted_messages(mut self, evicted_messages: EvictedMessages) -> Self {
        self.evicted_messages = evicted_messages;
        self
    }

    /// Builds the store.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Configuration`](crate::ErrorKind::Configuration) for a maximum of zero.
    pub fn build(self) -> Result<InMemoryChatMemoryStore> {
        let bound = match self.bound {
            None => None,
            Some(bound) => Some(NonZeroUsize::new(bound).ok_or_else(|| {
                Error::configuration("`max_conversations` must be greater than zero, but is 0")
            })?),
        };
        Ok(InMemoryChatMemoryStore::with(bound, self.evicted_messages))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(id: &str) -> MemoryId {
        id.into()
    }

    fn message() -> Vec<ChatMessage> {
        vec![ChatMessage::user("a")]
    }

    async fn version(store: &InMemoryChatMemoryStore) -> Option<u64> {
        store.load(&id("klaus")).await.unwrap().version()
    }

    #[tokio::test]
    async fn memory_is_separate_per_id() {
        let store = InMemoryChatMemoryStore::new();
        for n in 0..100 {
            let messages = [ChatMessage::user(n.to_string())];
            store.update_messages(&id(&n.to_string()), &messages).await.unwrap();
        }
        assert_eq!(store.len(), 100);
        let messages = store.get_messages(&id("7")).await.unwrap();
        assert_eq!(messages, [ChatMessage::user("7")]);
        assert_eq!(store.get_messages(&id("unknown")).await.unwrap(), []);
    }

    #[tokio::test]
    async fn second_writer_gets_a_conflict() {
        let store = InMemoryChatMemoryStore::new();
        for _ in 0..2 {
            let version = version(&store).await;
            let change = || Change::advance(version, 0..0, message());
            store.commit(&id("klaus"), change()).await.unwrap();
            let error = store.commit(&id("klaus"), change()).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Conflict);
        }
        assert_eq!(store.get_messages(&id("klaus")).await.unwrap().len(), 2);
    }

    #[tokio::test]
    async fn restarted_conversation_has_a_new_version() {
        let store = InMemoryChatMemoryStore::new();
        store.update_messages(&id("klaus"), &message()).await.unwrap();
        let old = version(&store).await;
        store.delete_messages(&id("klaus")).await.unwrap();
        assert!(store.is_empty());
        store.update_messages(&id("klaus"), &message()).await.unwrap();
        let change = Change::advance(old, 0..0, message());
        let error = store.commit(&id("klaus"), change).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict);
    }

    #[tokio::test]
    async fn snapshot_is_not_affected_by_later_writes() {
        let store = InMemoryChatMemoryStore::new();
        store.update_messages(&id("klaus"), &message()).await.unwrap();
        let snapshot = store.load(&id("klaus")).await.unwrap();
        store.update_messages(&id("klaus"), &[]).await.unwrap();
        assert_eq!(snapshot.messages().len(), 1);
    }

    #[tokio::test]
    async fn least_recently_used_conversation_is_deleted() {
        let store = InMemoryChatMemoryStore::builder().max_conversations(2).build().unwrap();
        for name in ["a", "b"] {
            store.update_messages(&id(name), &message()).await.unwrap();
        }
        store.get_messages(&id("a")).await.unwrap();
        store.update_messages(&id("c"), &message()).await.unwrap();
        assert_eq!(store.len(), 2);
        assert_eq!(store.get_messages(&id("b")).await.unwrap(), []);
        store.delete_messages(&id("a")).await.unwrap();
        store.update_messages(&id("d"), &message()).await.unwrap();
        assert_eq!(store.get_messages(&id("c")).await.unwrap(), message());
    }

    #[test]
    fn bound_of_zero_is_rejected() {
        let error = InMemoryChatMemoryStore::builder().max_conversations(0).build().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Configuration);
    }
}
