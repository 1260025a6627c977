//! The conversations in use, and the idle ones whose memory lives in the service.
//!
//! All bookkeeping of a shard happens under its lock: a conversation is entered, left and dropped in
//! one step each. A slot that has a user is therefore never replaced or dropped.

use super::ConcurrentCalls;
use super::primitives::{Mutex, MutexGuard, Semaphore};
use crate::memory::{ChatMemory, MemoryId, Residence};
use crate::{Error, ErrorKind, Result};
use std::collections::hash_map::RandomState;
use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, BuildHasherDefault, Hash, Hasher};
use std::sync::{Arc, PoisonError};

/// Number of shards without a bound on the kept memories. Calls on different ids rarely share a lock.
const SHARDS: usize = 32;

/// The conversations in use, and the idle ones whose memory lives in the service.
pub(in crate::service) struct Conversations {
    first: Arc<Mutex<ConversationShard>>,
    /// The other shards.
    others: Box<[Arc<Mutex<ConversationShard>>]>,
    hasher: RandomState,
}

#[derive(Default)]
struct ConversationShard {
    by_id: HashMap<HashedId, ShardEntry, BuildHasherDefault<KnownHash>>,
    /// Idle conversations that are kept, by the time of their last use. Empty without a bound.
    idle: BTreeMap<u64, HashedId>,
    clock: u64,
    max_kept: Option<usize>,
}

/// An id with its keyed hash. A call uses the hash three times: to choose the shard, to enter, to leave.
#[derive(Clone, PartialEq, Eq)]
struct HashedId {
    hash: u64,
    id: MemoryId,
}

impl Hash for HashedId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

/// The hasher of [`HashedId`], which returns the hash that it is given.
#[derive(Default)]
struct KnownHash(u64);

impl Hasher for KnownHash {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

struct ShardEntry {
    slot: Arc<ConversationSlot>,
    /// Number of calls that use the slot or wait for it.
    users: usize,
    last_used: u64,
}

/// One conversation: its queue, and its memory if that lives in the service.
pub(in crate::service) struct ConversationSlot {
    /// A fair semaphore with one permit.
    permits: Semaphore,
    memory: Mutex<Option<Arc<dyn ChatMemory>>>,
}

impl Conversations {
    /// Creates an empty map. A bound needs a single shard: the memory to drop is the least recently
    /// used of all.
    pub(in crate::service) fn new(max_kept: Option<usize>) -> Self {
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
    pub(in crate::service) async fn lock(
        &self,
        id: &MemoryId,
        concurrent_calls: ConcurrentCalls,
    ) -> Result<ConversationLock> {
        let user = self.enter(id);
        let permit = Permit::acquire(&user.slot, id, concurrent_calls).await?;
        Ok(ConversationLock { permit, _user: Some(user) })
    }

    /// Returns the memory that is kept for `id`, or the result of `provide`.
    pub(in crate::service) fn memory(
        &self,
        id: &MemoryId,
        provide: impl FnOnce() -> Result<Arc<dyn ChatMemory>>,
    ) -> Result<Arc<dyn ChatMemory>> {
        self.enter(id).slot.memory(provide)
    }

    /// Drops the memory that is kept for `id`. Returns `true` if there was one.
    pub(in crate::service) fn evict(&self, id: &MemoryId) -> bool {
        let user = self.enter(id);
        let evicted = lock(&user.slot.memory).take();
        evicted.is_some()
    }

    /// Returns the number of ids that take up space.
    #[cfg(test)]
    pub(in crate::service) fn len(&self) -> usize {
        let shards = self.others.iter().chain([&self.first]);
        shards.map(|shard| lock(shard).by_id.len()).sum()
    }

    fn enter(&self, id: &MemoryId) -> SlotUser {
        let id = HashedId { hash: self.hasher.hash_one(id), id: id.clone() };
        // The map uses the other bits.
        let index = (id.hash >> 32) as usize % (self.others.len() + 1);
        let shard = self.others.get(index).unwrap_or(&self.first);
        let slot = lock(shard).enter(&id);
        SlotUser { shard: Arc::clone(shard), slot, id }
    }
}

impl ConversationShard {
    /// Adds a user to the slot of `id`.
    fn enter(&mut self, id: &HashedId) -> Arc<ConversationSlot> {
        let entry = self.by_id.entry(id.clone()).or_insert_with(|| ShardEntry {
            slot: Arc::new(ConversationSlot::new(None)),
            users: 0,
            last_used: 0,
        });
        if entry.users == 0 {
            self.idle.remove(&entry.last_used);
        }
        entry.users += 1;
        Arc::clone(&entry.slot)
    }

    /// Removes a user from the slot of `id`. Returns the entries that are no longer kept.
    fn leave(&mut self, id: &HashedId) -> Vec<ShardEntry> {
        let mut dropped = Vec::new();
        let Some(entry) = self.by_id.get_mut(id) else { return dropped };
        entry.users = entry.users.saturating_sub(1);
        if entry.users > 0 {
            return dropped;
        }
        if lock(&entry.slot.memory).is_none() {
            dropped.extend(self.by_id.remove(id));
        } else if let Some(max) = self.max_kept {
            self.clock += 1;
            entry.last_used = self.clock;
            self.idle.insert(self.clock, id.clone());
            while self.idle.len() > max {
                let Some((_, oldest)) = self.idle.pop_first() else { break };
                dropped.extend(self.by_id.remove(&oldest));
            }
        }
        dropped
    }
}

impl ConversationSlot {
    pub(in crate::service) fn new(memory: Option<Arc<dyn ChatMemory>>) -> Self {
        Self { permits: Semaphore::new(1), memory: Mutex::new(memory) }
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
            Residence::Here => {
                // The first one wins: a memory without a store must not exist twice. Another one is
                // dropped after the lock is released, because memories run foreign code on drop.
                let mut kept = lock(&self.memory);
                Ok(Arc::clone(kept.get_or_insert_with(|| Arc::clone(&provided))))
            }
            Residence::Store => Ok(provided),
        }
    }
}

/// Exclusive use of a conversation within this process. Unlocks on drop.
pub(in crate::service) struct ConversationLock {
    /// Declared first, so that the permit is released while the slot is still registered.
    permit: Permit,
    _user: Option<SlotUser>,
}

impl ConversationLock {
    /// Waits until no other call uses a slot without an id, and locks it.
    pub(in crate::service) async fn of_slot(
        slot: &Arc<ConversationSlot>,
        id: &MemoryId,
        concurrent_calls: ConcurrentCalls,
    ) -> Result<Self> {
        let permit = Permit::acquire(slot, id, concurrent_calls).await?;
        Ok(Self { permit, _user: None })
    }

    /// Returns the memory that is kept for the conversation, or the result of `provide`.
    pub(in crate::service) fn memory(
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
        // Fails while calls wait, so that none of them is overtaken.
        let free = slot.permits.try_acquire().ok();
        let permit = match concurrent_calls {
            ConcurrentCalls::Queue if free.is_none() => slot.permits.acquire().await.ok(),
            ConcurrentCalls::Queue | ConcurrentCalls::Reject => free,
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
    id: HashedId,
}

impl Drop for SlotUser {
    fn drop(&mut self) {
        // Memories run foreign code on drop, which must not hold the lock.
        let dropped = lock(&self.shard).leave(&self.id);
        drop(dropped);
    }
}

/// Locks a mutex. No lock is held while foreign code runs, so poisoning is harmless.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
