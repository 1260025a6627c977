//! The queue of each conversation, and the memories that live here.
//!
//! An id costs something only while a call uses it, unless its memory has no store to live in.

use super::components::ConcurrentCalls;
use crate::error::{Error, ErrorKind, Result};
use crate::invocation::MemoryId;
use crate::memory::{ChatMemory, Residence};
use std::collections::hash_map::RandomState;
use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Semaphore;

/// How many parts the conversations are in, so that calls of different ids seldom meet.
const SHARDS: usize = 32;

/// All conversations in use, and those whose memory lives here.
pub(super) struct Conversations {
    shards: Box<[Arc<Mutex<Shard>>]>,
    hasher: RandomState,
}

#[derive(Default)]
struct Shard {
    by_id: HashMap<MemoryId, Entry>,
    /// Idle conversations that are kept, by the time of their last use. Only if there is a bound.
    idle: BTreeMap<u64, MemoryId>,
    clock: u64,
    max_kept: Option<usize>,
}

struct Entry {
    slot: Arc<Slot>,
    last_used: u64,
}

/// One conversation: whose turn it is, and its memory if that lives here.
pub(super) struct Slot {
    /// One permit, given in the order of asking.
    turns: Semaphore,
    memory: Mutex<Option<Arc<dyn ChatMemory>>>,
    /// Calls that use the slot or wait for it. Grows only under the lock of the shard.
    users: AtomicUsize,
}

impl Conversations {
    /// With a bound there is one shard, so that exactly the least recently used memory goes.
    pub(super) fn new(max_kept: Option<usize>) -> Self {
        let shards = if max_kept.is_some() { 1 } else { SHARDS };
        let shard = || Arc::new(Mutex::new(Shard { max_kept, ..Shard::default() }));
        Self { shards: (0..shards).map(|_| shard()).collect(), hasher: RandomState::new() }
    }

    /// Waits until no other call uses `id`.
    pub(super) async fn lease(
        &self,
        id: &MemoryId,
        concurrent_calls: ConcurrentCalls,
    ) -> Result<Lease> {
        let place = self.enter(id)?;
        let turn = Turn::take(&place.slot, id, concurrent_calls).await?;
        Ok(Lease { turn, _place: Some(place) })
    }

    /// The memory that is kept for `id`, else the one that `provide` makes.
    pub(super) fn memory(
        &self,
        id: &MemoryId,
        provide: impl FnOnce() -> Result<Arc<dyn ChatMemory>>,
    ) -> Result<Arc<dyn ChatMemory>> {
        self.enter(id)?.slot.memory(provide)
    }

    /// Drops the memory that is kept for `id`; says whether there was one.
    pub(super) fn evict(&self, id: &MemoryId) -> bool {
        let Ok(place) = self.enter(id) else { return false };
        let evicted = lock(&place.slot.memory).take();
        evicted.is_some()
    }

    /// How many ids cost something.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.shards.iter().map(|shard| lock(shard).by_id.len()).sum()
    }

    fn enter(&self, id: &MemoryId) -> Result<Place> {
        let index = self.hasher.hash_one(id) as usize % self.shards.len().max(1);
        let shard = self.shards.get(index).ok_or_else(no_place)?;
        let mut guard = lock(shard);
        let Shard { by_id, idle, .. } = &mut *guard;
        let entry = by_id
            .entry(id.clone())
            .or_insert_with(|| Entry { slot: Arc::new(Slot::new(None)), last_used: 0 });
        if entry.slot.users.fetch_add(1, Ordering::AcqRel) == 0 {
            idle.remove(&entry.last_used);
        }
        let slot = Arc::clone(&entry.slot);
        Ok(Place { shard: Arc::clone(shard), slot, id: id.clone() })
    }
}

impl Slot {
    pub(super) fn new(memory: Option<Arc<dyn ChatMemory>>) -> Self {
        Self { turns: Semaphore::new(1), memory: Mutex::new(memory), users: AtomicUsize::new(0) }
    }

    fn memory(
        &self,
        provide: impl FnOnce() -> Result<Arc<dyn ChatMemory>>,
    ) -> Result<Arc<dyn ChatMemory>> {
        if let Some(kept) = &*lock(&self.memory) {
            return Ok(Arc::clone(kept));
        }
        let made = provide()?;
        match made.residence() {
            // Whoever was first decides: a memory that lives here must not exist twice.
            Residence::Here => Ok(Arc::clone(lock(&self.memory).get_or_insert(made))),
            Residence::Store => Ok(made),
        }
    }
}

/// The right to use a conversation. Gives it back when dropped.
pub(super) struct Lease {
    /// Given back before the place, so that the next in line finds the slot.
    turn: Turn,
    _place: Option<Place>,
}

impl Lease {
    /// Waits until no other call uses a slot that belongs to no id.
    pub(super) async fn of_slot(
        slot: &Arc<Slot>,
        id: &MemoryId,
        concurrent_calls: ConcurrentCalls,
    ) -> Result<Self> {
        let turn = Turn::take(slot, id, concurrent_calls).await?;
        Ok(Self { turn, _place: None })
    }

    /// The memory of the conversation, made by `provide` unless it is kept.
    pub(super) fn memory(
        &self,
        provide: impl FnOnce() -> Result<Arc<dyn ChatMemory>>,
    ) -> Result<Arc<dyn ChatMemory>> {
        self.turn.0.memory(provide)
    }
}

/// The one permit of a slot.
struct Turn(Arc<Slot>);

impl Turn {
    async fn take(
        slot: &Arc<Slot>,
        id: &MemoryId,
        concurrent_calls: ConcurrentCalls,
    ) -> Result<Self> {
        let permit = match concurrent_calls {
            ConcurrentCalls::Queue => slot.turns.acquire().await.ok(),
            ConcurrentCalls::Reject => slot.turns.try_acquire().ok(),
        };
        match permit {
            Some(permit) => {
                // Given back by `drop`, so that the turn need not borrow the slot.
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

impl Drop for Turn {
    fn drop(&mut self) {
        self.0.turns.add_permits(1);
    }
}

/// One user of a slot, working or waiting.
struct Place {
    shard: Arc<Mutex<Shard>>,
    slot: Arc<Slot>,
    id: MemoryId,
}

impl Drop for Place {
    fn drop(&mut self) {
        if self.slot.users.fetch_sub(1, Ordering::AcqRel) > 1 {
            return;
        }
        // Dropped behind the lock: a memory may be anybody's code.
        let mut forgotten = Vec::new();
        let mut guard = lock(&self.shard);
        let Shard { by_id, idle, clock, max_kept } = &mut *guard;
        let Some(entry) = by_id.get_mut(&self.id) else { return };
        // Meanwhile somebody may have come, or even gone and left another slot under this id.
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

/// No lock is held across user code, so a poisoned one is as good as any.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// There is at least one shard.
fn no_place() -> Error {
    Error::configuration("the service has no place for conversations")
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

    async fn lease(conversations: &Conversations, id: &MemoryId) -> Lease {
        conversations.lease(id, ConcurrentCalls::Queue).await.unwrap()
    }

    #[tokio::test]
    async fn idle_id_with_a_store_costs_nothing() {
        let conversations = Conversations::new(None);
        let id = MemoryId::from("ann");
        let held = lease(&conversations, &id).await;
        held.memory(|| memory(&id, Some(Arc::default()))).unwrap();
        assert_eq!(conversations.len(), 1);
        drop(held);
        assert_eq!(conversations.len(), 0);
    }

    #[tokio::test]
    async fn memory_that_lives_here_is_made_once() {
        let conversations = Conversations::new(None);
        let id = MemoryId::from("ann");
        let first = lease(&conversations, &id).await.memory(|| memory(&id, None)).unwrap();
        let second = lease(&conversations, &id).await.memory(|| memory(&id, None)).unwrap();
        assert!(Arc::ptr_eq(&first, &second));
        assert!(conversations.evict(&id));
        assert_eq!(conversations.len(), 0);
    }

    #[tokio::test]
    async fn dropped_waiter_leaves_the_queue() {
        let conversations = Conversations::new(None);
        let id = MemoryId::from("ann");
        let held = lease(&conversations, &id).await;
        let mut waiting = Box::pin(conversations.lease(&id, ConcurrentCalls::Queue));
        assert!((&mut waiting).now_or_never().is_none());
        drop(waiting);
        drop(held);
        assert_eq!(conversations.len(), 0);
    }
}
