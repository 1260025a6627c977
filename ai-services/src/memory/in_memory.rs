//! A store for many conversations in the memory of the process.

use super::{Change, ChatMemoryStore, MemoryId, Snapshot};
use crate::error::{Error, ErrorKind, Result};
use crate::message::{ChatMessage, Messages};
use async_trait::async_trait;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many locks an unbounded store is divided by, so that conversations do not wait for each other.
const SHARDS: usize = 32;

/// A store that keeps messages in the memory of the process.
///
/// Clones share one store. Loading a conversation copies a pointer; a turn changes the list in
/// place. Everything is forgotten when the process ends. Without a bound, conversations are kept
/// until they are deleted; see [`max_conversations`](InMemoryChatMemoryStoreBuilder::max_conversations).
///
/// # Examples
///
/// ```
/// use ai_services::memory::{
///     ChatMemory, ChatMemoryProvider, InMemoryChatMemoryStore, MemoryId, MessageWindowChatMemory,
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
pub struct InMemoryChatMemoryStore(Arc<Shared>);

struct Shared {
    shards: Box<[Mutex<Shard>]>,
    hasher: RandomState,
    /// The last version given to any conversation: none is given twice, so that a conversation
    /// that was deleted and begun again differs from the old one.
    version: AtomicU64,
    bound: Option<NonZeroUsize>,
}

#[derive(Default)]
struct Shard {
    slots: HashMap<MemoryId, Slot>,
    /// The conversations by last use, if the store is bounded.
    by_use: BTreeMap<u64, MemoryId>,
    uses: u64,
}

/// One conversation.
#[derive(Debug, Default)]
pub(super) struct Slot {
    messages: Messages,
    /// 0 for a conversation that has not begun.
    pub(super) version: u64,
    used: u64,
}

impl Slot {
    pub(super) fn snapshot(&self) -> Snapshot {
        Snapshot::new(self.messages.clone(), Some(self.version))
    }

    pub(super) fn is_expected_by(&self, change: &Change) -> bool {
        change.expected_version().is_none_or(|version| version == self.version)
    }

    pub(super) fn apply(&mut self, change: Change, version: u64) {
        change.apply(&mut self.messages);
        self.version = version;
    }
}

pub(super) fn conflict(id: &MemoryId) -> Error {
    Error::new(
        ErrorKind::Conflict,
        format!("the conversation `{id}` was changed since it was loaded; load it again"),
    )
}

impl InMemoryChatMemoryStore {
    /// An empty store without a bound.
    #[must_use]
    pub fn new() -> Self {
        Self::with_bound(None)
    }

    /// Starts a store with a bound.
    pub fn builder() -> InMemoryChatMemoryStoreBuilder {
        InMemoryChatMemoryStoreBuilder::default()
    }

    fn with_bound(bound: Option<NonZeroUsize>) -> Self {
        // Which conversation was used least recently is known to one lock only.
        let shards = if bound.is_some() { 1 } else { SHARDS };
        Self(Arc::new(Shared {
            shards: std::iter::repeat_with(Mutex::default).take(shards).collect(),
            hasher: RandomState::new(),
            version: AtomicU64::new(0),
            bound,
        }))
    }

    /// How many conversations are kept.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.shards.iter().map(|shard| lock(shard).slots.len()).sum()
    }

    /// Whether no conversation is kept.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn shard(&self, id: &MemoryId) -> Result<MutexGuard<'_, Shard>> {
        let shards = &self.0.shards;
        let index = match shards.len() {
            1 => 0,
            shards => self.0.hasher.hash_one(id) as usize % shards,
        };
        // The index is always valid; a missing shard would be a store that cannot be used.
        let shard = shards.get(index).ok_or_else(|| Error::new(ErrorKind::Memory, "no such shard"));
        shard.map(lock)
    }
}

/// No code that can panic runs while a lock is held, so a poisoned one is as good as any.
fn lock(shard: &Mutex<Shard>) -> MutexGuard<'_, Shard> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shard {
    /// Marks a conversation as just used.
    fn touch(&mut self, id: &MemoryId) {
        let Some(slot) = self.slots.get_mut(id) else { return };
        self.uses += 1;
        let id = self.by_use.remove(&slot.used).unwrap_or_else(|| id.clone());
        slot.used = self.uses;
        self.by_use.insert(self.uses, id);
    }

    fn remove(&mut self, id: &MemoryId) -> Option<Slot> {
        let slot = self.slots.remove(id)?;
        self.by_use.remove(&slot.used);
        Some(slot)
    }

    /// Takes out the least recently used conversations that are too many.
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
        // Freed after the lock is released.
        drop(removed);
        Ok(())
    }

    async fn load(&self, id: &MemoryId) -> Result<Snapshot> {
        let mut shard = self.shard(id)?;
        if self.0.bound.is_some() {
            shard.touch(id);
        }
        Ok(shard.slots.get(id).map_or_else(|| Slot::default().snapshot(), Slot::snapshot))
    }

    async fn commit(&self, id: &MemoryId, change: Change) -> Result<()> {
        let mut shard = self.shard(id)?;
        let version = self.0.version.fetch_add(1, Ordering::Relaxed) + 1;
        match shard.slots.get_mut(id) {
            Some(slot) if slot.is_expected_by(&change) => slot.apply(change, version),
            None if Slot::default().is_expected_by(&change) => {
                let mut slot = Slot::default();
                slot.apply(change, version);
                shard.slots.insert(id.clone(), slot);
            }
            _ => return Err(conflict(id)),
        }
        let Some(bound) = self.0.bound else { return Ok(()) };
        shard.touch(id);
        let evicted = shard.evict(bound);
        drop(shard);
        drop(evicted);
        Ok(())
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
}

impl InMemoryChatMemoryStoreBuilder {
    /// How many conversations are kept, at least one. Beyond that, the one that was used least
    /// recently is forgotten. No bound unless set.
    pub fn max_conversations(mut self, bound: usize) -> Self {
        self.bound = Some(bound);
        self
    }

    /// The store.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Configuration`](crate::ErrorKind::Configuration) for a bound of zero.
    pub fn build(self) -> Result<InMemoryChatMemoryStore> {
        let bound = match self.bound {
            None => None,
            Some(bound) => Some(NonZeroUsize::new(bound).ok_or_else(|| {
                Error::configuration("`max_conversations` must be greater than zero, but is 0")
            })?),
        };
        Ok(InMemoryChatMemoryStore::with_bound(bound))
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
    async fn second_writer_is_turned_away() {
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
    async fn conversation_begun_again_is_another() {
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
    async fn snapshot_stays_as_it_was() {
        let store = InMemoryChatMemoryStore::new();
        store.update_messages(&id("klaus"), &message()).await.unwrap();
        let snapshot = store.load(&id("klaus")).await.unwrap();
        store.update_messages(&id("klaus"), &[]).await.unwrap();
        assert_eq!(snapshot.messages().len(), 1);
    }

    #[tokio::test]
    async fn least_recently_used_conversation_is_forgotten() {
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
    fn bound_of_zero_is_an_error() {
        let error = InMemoryChatMemoryStore::builder().max_conversations(0).build().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Configuration);
    }
}
