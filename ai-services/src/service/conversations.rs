//! The queue of each conversation, and the memories that live in the service.
//!
//! An idle conversation costs nothing, unless its memory has no store to live in.

use crate::memory::{ChatMemory, MemoryId, Residence};
use crate::{Error, ErrorKind, Result};
use std::collections::hash_map::RandomState;
use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Semaphore;

/// Policy for a second call on a memory id that is in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConcurrentCalls {
    /// The call waits. Calls on one id run in the order in which they were made.
    #[default]
    Queue,
    /// The call fails with [`ErrorKind::Busy`](crate::ErrorKind::Busy).
    Reject,
}

/// Number of shards without a bound on the kept memories. Calls on different ids rarely share a lock.
const SHARDS: usize = 32;

/// The conversations in use, and the idle ones whose memory lives in the service.
pub(super) struct Conversations {
    first: Arc<Mutex<ConversationShard>>,
    /// The other shards.
    others: Box<[Arc<Mutex<ConversationShard>>]>,
    hasher: RandomState,
}

#[derive(Default)]
struct ConversationShard {
    by_id: HashMap<MemoryId, ShardEntry>,
    /// Idle conversations that are kept, by the time of their last use. Empty without a bound.
    idle: BTreeMap<u64, MemoryId>,
    clock: u64,
    max_kept: Option<usize>,
}

struct ShardEntry {
    slot: Arc<ConversationSlot>,
    last_used: u64,
}

/// One conversation: its queue, and its memory if that lives in the service.
pub(super) struct ConversationSlot {
    /// A fair semaphore with one permit.
    permits: Semaphore,
    memory: Mutex<Option<Arc<dyn ChatMemory>>>,
    /// Number of calls that use the slot or wait for it. Grows only under the lock of the shard.
    users: AtomicUsize,
}

impl Conversations {
    /// Creates an empty map. A bound needs a single shard: the memory to drop is the least recently
    /// used of all.
    pub(super) fn new(max_kept: Option<usize>) -> Self {
        let shards = if max_kept.is_some() { 1 } else { SHARDS };
        let shard =
            || Arc::new(Mutex::new(ConversationShard { max_kept, ..ConversationShard::default() }));
        Self {
            first: shard(),
            others: (1..shards).map(|_| shard()).collect(),
            hasher: RandomState::new(),
        }
    }

    /// Waits until no other call uses `id`, and locks the conversation.
    pub(super) async fn lock(
        &self,
        id: &MemoryId,
        concurrent_calls: ConcurrentCalls,
    ) -> Result<ConversationLock> {
        let user = self.enter(id);
        let permit = Permit::acquire(&user.slot, id, concurrent_calls).await?;
        Ok(ConversationLock { permit, _user: Some(user) })
    }

    /// Returns the memory that is kept for `id`, or the result of `provide`.
    pub(super) fn memory(
        &self,
        id: &MemoryId,
        provide: impl FnOnce() -> Result<Arc<dyn ChatMemory>>,
    ) -> Result<Arc<dyn ChatMemory>> {
        self.enter(id).slot.memory(provide)
    }

    /// Drops the memory that is kept for `id`. Returns `true` if there was one.
    pub(super) fn evict(&self, id: &MemoryId) -> bool {
        let user = self.enter(id);
        let evicted = lock(&user.slot.memory).take();
        evicted.is_some()
    }

    /// Returns the number of ids that take up space.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        let shards = self.others.iter().chain([&self.first]);
        shards.map(|shard| lock(shard).by_id.len()).sum()
    }

    fn enter(&self, id: &MemoryId) -> SlotUser {
        let index = self.hasher.hash_one(id) as usize % (self.others.len() + 1);
        let shard = self.others.get(index).unwrap_or(&self.first);
        let mut guard = lock(shard);
        let ConversationShard { by_id, idle, .. } = &mut *guard;
        let entry = by_id.entry(id.clone()).or_insert_with(|| ShardEntry {
            slot: Arc::new(ConversationSlot::new(None)),
            last_used: 0,
        });
        if entry.slot.users.fetch_add(1, Ordering::AcqRel) == 0 {
            idle.remove(&entry.last_used);
        }
        let slot = Arc::clone(&entry.slot);
        SlotUser { shard: Arc::clone(shard), slot, id: id.clone() }
    }
}

impl ConversationSlot {
    pub(super) fn new(memory: Option<Arc<dyn ChatMemory>>) -> Self {
        Self { permits: Semaphore::new(1), memory: Mutex::new(memory), users: AtomicUsize::new(0) }
    }

    fn memory(
        &self,
        provide: impl FnOnce() -> Result<Arc<dyn ChatMemory>>,
    ) -> Result<Arc<dyn ChatMemory>> {
        if let Some(kept) = &*lock(&self.memory) {
            return Ok(Arc::clone(kept));
        }
        let provided = provide()?;
        match provided.residence() {
            // The first one wins: a memory without a store must not exist twice.
            Residence::Here => Ok(Arc::clone(lock(&self.memory).get_or_insert(provided))),
            Residence::Store => Ok(provided),
        }
    }
}

/// Exclusive use of a conversation within this process. Unlocks on drop.
pub(super) struct ConversationLock {
    /// Declared first, so that the permit is released while the slot is still registered.
    permit: Permit,
    _user: Option<SlotUser>,
}

impl ConversationLock {
    /// Waits until no other call uses a slot without an id, and locks it.
    pub(super) async fn of_slot(
        slot: &Arc<ConversationSlot>,
        id: &MemoryId,
        concurrent_calls: ConcurrentCalls,
    ) -> Result<Self> {
        let permit = Permit::acquire(slot, id, concurrent_calls).await?;
        Ok(Self { permit, _user: None })
    }

    /// Returns the memory that is kept for the conversation, or the result of `provide`.
    pub(super) fn memory(
        &self,
        provide: impl FnOnce() -> Result<Arc<dyn ChatMemory>>,
    ) -> Result<Arc<dyn ChatMemory>> {
        self.permit.0.memory(provide)
    }
}

/// The permit of a slot.
struct Permit(Arc<ConversationSlot>);

impl Permit {
    async fn acquire(
        slot: &Arc<ConversationSlot>,
        id: &MemoryId,
        concurrent_calls: ConcurrentCalls,
    ) -> Result<Self> {
        let permit = match concurrent_calls {
            ConcurrentCalls::Queue => slot.permits.acquire().await.ok(),
            ConcurrentCalls::Reject => slot.permits.try_acquire().ok(),
        };
        match permit {
            Some(permit) => {
                // `drop` returns the permit, so that it need not borrow the slot.
                permit.forget();
                Ok(Self(Arc::clone(slot)))
            }
            None => Err(Error::new(
                ErrorKind::Busy,
                format!("another call for memory id `{id}` is running"),
            )),
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.permits.add_permits(1);
    }
}

/// One user of a slot, running or waiting.
struct SlotUser {
    shard: Arc<Mutex<ConversationShard>>,
    slot: Arc<ConversationSlot>,
    id: MemoryId,
}

impl Drop for SlotUser {
    fn drop(&mut self) {
        if self.slot.users.fetch_sub(1, Ordering::AcqRel) > 1 {
            return;
        }
        // Declared before the guard: memories run foreign code on drop, which must not hold the lock.
        let mut forgotten = Vec::new();
        let mut guard = lock(&self.shard);
        let ConversationShard { by_id, idle, clock, max_kept } = &mut *guard;
        let Some(entry) = by_id.get_mut(&self.id) else { return };
        // Another call may have entered since, or even replaced the slot and left.
        let is_idle =
            Arc::ptr_eq(&entry.slot, &self.slot) && self.slot.users.load(Ordering::Acquire) == 0;
        if !is_idle {
            return;
        }
        if lock(&self.slot.memory).is_none() {
            by_id.remove(&self.id);
        } else if let Some(max) = max_kept {
            *clock += 1;
            entry.last_used = *clock;
            idle.insert(*clock, self.id.clone());
            while idle.len() > *max {
                let Some((_, oldest)) = idle.pop_first() else { return };
                forgotten.extend(by_id.remove(&oldest));
            }
        }
    }
}

/// Locks a mutex. No lock is held while foreign code runs, so poisoning is harmless.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{InMemoryChatMemoryStore, MessageWindowChatMemory};
    use futures_util::FutureExt;

    fn memory(
        id: &MemoryId,
        store: Option<Arc<InMemoryChatMemoryStore>>,
    ) -> Result<Arc<dyn ChatMemory>> {
        let builder = MessageWindowChatMemory::builder().id(id).max_messages(9);
        Ok(match store {
            Some(store) => Arc::new(builder.store(store).build()?),
            None => Arc::new(builder.build()?),
        })
    }

    async fn queue(conversations: &Conversations, id: &MemoryId) -> ConversationLock {
        conversations.lock(id, ConcurrentCalls::Queue).await.unwrap()
    }

    #[tokio::test]
    async fn idle_id_with_a_store_takes_no_space() {
        let conversations = Conversations::new(None);
        let id = MemoryId::from("ann");
        let lock = queue(&conversations, &id).await;
        lock.memory(|| memory(&id, Some(Arc::default()))).unwrap();
        assert_eq!(conversations.len(), 1);
        drop(lock);
        assert_eq!(conversations.len(), 0);
    }

    #[tokio::test]
    async fn memory_without_a_store_is_provided_once() {
        let conversations = Conversations::new(None);
        let id = MemoryId::from("ann");
        let first = queue(&conversations, &id).await.memory(|| memory(&id, None)).unwrap();
        let second = queue(&conversations, &id).await.memory(|| memory(&id, None)).unwrap();
        assert!(Arc::ptr_eq(&first, &second));
        assert!(conversations.evict(&id));
        assert_eq!(conversations.len(), 0);
    }

    #[tokio::test]
    async fn dropped_waiter_leaves_the_queue() {
        let conversations = Conversations::new(None);
        let id = MemoryId::from("ann");
        let lock = queue(&conversations, &id).await;
        let mut waiting = Box::pin(conversations.lock(&id, ConcurrentCalls::Queue));
        assert!((&mut waiting).now_or_never().is_none());
        drop(waiting);
        drop(lock);
        assert_eq!(conversations.len(), 0);
    }
}
