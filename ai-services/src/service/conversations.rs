//! The queue of each conversation, and the memories that live here.
//!
//! An id costs something only while a call uses it, unless its memory has no store to live in.

use super::components::ConcurrentCalls;
use crate::error::{Error, ErrorKind, Result};
use crate::invocation::MemoryId;
use crate::memory::{ChatMemory, Residence};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{Mutex as Queue, OwnedMutexGuard};

/// The right to be the one that uses a memory, in the order of asking.
pub(super) async fn take_turn(
    queue: Arc<Queue<()>>,
    id: &MemoryId,
    concurrent_calls: ConcurrentCalls,
) -> Result<OwnedMutexGuard<()>> {
    match concurrent_calls {
        ConcurrentCalls::Queue => Ok(queue.lock_owned().await),
        ConcurrentCalls::Reject => queue.try_lock_owned().map_err(|_| {
            Error::new(ErrorKind::Busy, format!("another call for memory id `{id}` is running"))
        }),
    }
}

/// All conversations in use, and those whose memory lives here.
#[derive(Clone, Default)]
pub(super) struct Conversations {
    slots: Arc<Mutex<Slots>>,
}

#[derive(Default)]
struct Slots {
    by_id: HashMap<MemoryId, Slot>,
    /// Idle slots that are kept, by the time of their last use.
    idle: BTreeMap<u64, MemoryId>,
    clock: u64,
    max_kept: Option<usize>,
}

struct Slot {
    /// First come, first served.
    queue: Arc<Queue<()>>,
    memory: Option<Arc<dyn ChatMemory>>,
    /// Calls that use the slot or wait for it.
    users: usize,
    last_used: u64,
}

impl Conversations {
    pub(super) fn new(max_kept: Option<usize>) -> Self {
        Self { slots: Arc::new(Mutex::new(Slots { max_kept, ..Slots::default() })) }
    }

    /// Waits until no other call uses `id`.
    pub(super) async fn lease(
        &self,
        id: &MemoryId,
        concurrent_calls: ConcurrentCalls,
    ) -> Result<Lease> {
        let (queue, place) = self.enter(id);
        let turn = take_turn(queue, id, concurrent_calls).await?;
        Ok(Lease { _turn: turn, place })
    }

    /// The memory that is kept for `id`, else the one that `provide` makes.
    pub(super) fn memory(
        &self,
        id: &MemoryId,
        provide: impl FnOnce() -> Result<Arc<dyn ChatMemory>>,
    ) -> Result<Arc<dyn ChatMemory>> {
        let (_, place) = self.enter(id);
        place.memory(provide)
    }

    /// Drops the memory that is kept for `id`; says whether there was one.
    pub(super) fn evict(&self, id: &MemoryId) -> bool {
        let mut slots = lock(&self.slots);
        let Some(slot) = slots.by_id.get_mut(id) else { return false };
        let was_kept = slot.memory.take().is_some();
        if slot.users == 0 {
            let last_used = slot.last_used;
            slots.by_id.remove(id);
            slots.idle.remove(&last_used);
        }
        was_kept
    }

    /// How many ids cost something.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        lock(&self.slots).by_id.len()
    }

    fn enter(&self, id: &MemoryId) -> (Arc<Queue<()>>, Place) {
        let mut slots = lock(&self.slots);
        let slots = &mut *slots;
        let slot = slots.by_id.entry(id.clone()).or_insert_with(|| Slot {
            queue: Arc::default(),
            memory: None,
            users: 0,
            last_used: 0,
        });
        if slot.users == 0 {
            slots.idle.remove(&slot.last_used);
        }
        slot.users += 1;
        let place = Place { slots: Arc::clone(&self.slots), id: id.clone() };
        (Arc::clone(&slot.queue), place)
    }
}

/// The right to use a conversation. Gives it back when dropped.
pub(super) struct Lease {
    /// Given back before the place, so that the next in line finds the slot.
    _turn: OwnedMutexGuard<()>,
    place: Place,
}

impl Lease {
    /// The memory of the conversation, made by `provide` unless it is kept.
    pub(super) fn memory(
        &self,
        provide: impl FnOnce() -> Result<Arc<dyn ChatMemory>>,
    ) -> Result<Arc<dyn ChatMemory>> {
        self.place.memory(provide)
    }
}

/// One user of a slot, working or waiting.
struct Place {
    slots: Arc<Mutex<Slots>>,
    id: MemoryId,
}

impl Place {
    fn memory(
        &self,
        provide: impl FnOnce() -> Result<Arc<dyn ChatMemory>>,
    ) -> Result<Arc<dyn ChatMemory>> {
        if let Some(Slot { memory: Some(memory), .. }) = lock(&self.slots).by_id.get(&self.id) {
            return Ok(Arc::clone(memory));
        }
        let made = provide()?;
        let mut slots = lock(&self.slots);
        match slots.by_id.get_mut(&self.id) {
            // Whoever was first decides; a memory that lives here must not exist twice.
            Some(slot) if made.residence() == Residence::Here => {
                Ok(Arc::clone(slot.memory.get_or_insert(made)))
            }
            _ => Ok(made),
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // Dropped behind the lock: a memory may be anybody's code.
        let mut forgotten = Vec::new();
        let mut slots = lock(&self.slots);
        let slots = &mut *slots;
        let Some(slot) = slots.by_id.get_mut(&self.id) else { return };
        slot.users -= 1;
        if slot.users > 0 {
            return;
        }
        if slot.memory.is_none() {
            slots.by_id.remove(&self.id);
            return;
        }
        if let Some(max) = slots.max_kept {
            slots.clock += 1;
            slot.last_used = slots.clock;
            slots.idle.insert(slots.clock, self.id.clone());
            while slots.idle.len() > max {
                let Some((_, oldest)) = slots.idle.pop_first() else { return };
                forgotten.extend(slots.by_id.remove(&oldest));
            }
        }
    }
}

/// The lock is never held across user code, so a poisoned one is as good as any.
fn lock(slots: &Mutex<Slots>) -> MutexGuard<'_, Slots> {
    slots.lock().unwrap_or_else(PoisonError::into_inner)
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
