//! The queues and the kept memories in every interleaving of two or three threads.
//!
//! Loom runs each test again for every order of operations that can make a difference.

use super::ConcurrentCalls;
use crate::memory::{ChatMemory, InMemoryChatMemoryStore, MemoryId, MessageWindowChatMemory};
use crate::{ErrorKind, Result};
use futures_util::FutureExt;
use loom::future::block_on;
use loom::sync::atomic::AtomicBool;
use loom::thread;
use slots::{ConversationLock, ConversationSlot, Conversations};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

#[allow(clippy::duplicate_mod, reason = "compiled a second time, with the primitives below")]
#[path = "slots.rs"]
mod slots;

/// Primitives whose operations loom schedules.
mod primitives {
    pub(super) use loom::sync::{Mutex, MutexGuard};

    use loom::sync::atomic::{AtomicUsize, Ordering};
    use std::future::poll_fn;
    use std::pin::pin;
    use tokio::sync::{AcquireError, SemaphorePermit, TryAcquireError};

    /// Tokio's semaphore. Loom may run other threads before each of its operations.
    pub(super) struct Semaphore {
        permits: tokio::sync::Semaphore,
        operations: AtomicUsize,
    }

    impl Semaphore {
        pub(super) fn new(permits: usize) -> Self {
            Self { permits: tokio::sync::Semaphore::new(permits), operations: AtomicUsize::new(0) }
        }

        pub(super) async fn acquire(&self) -> Result<SemaphorePermit<'_>, AcquireError> {
            let mut permit = pin!(self.permits.acquire());
            // Dropped before the waiter, which leaves the queue in an operation of its own.
            let _leaving = Leaving(self);
            poll_fn(|cx| {
                self.schedule();
                permit.as_mut().poll(cx)
            })
            .await
        }

        pub(super) fn try_acquire(&self) -> Result<SemaphorePermit<'_>, TryAcquireError> {
            self.schedule();
            self.permits.try_acquire()
        }

        pub(super) fn add_permits(&self, permits: usize) {
            self.schedule();
            self.permits.add_permits(permits);
        }

        fn schedule(&self) {
            self.operations.fetch_add(1, Ordering::SeqCst);
        }
    }

    struct Leaving<'a>(&'a Semaphore);

    impl Drop for Leaving<'_> {
        fn drop(&mut self) {
            self.0.schedule();
        }
    }
}

/// Conversations with a bound, and a record of their use.
struct Fixture {
    conversations: Conversations,
    /// The conversations of `ann` and `bob`.
    used: [Use; 2],
    store: Option<Arc<InMemoryChatMemoryStore>>,
}

struct Use {
    is_locked: AtomicBool,
    /// Number of memories that were created.
    created: AtomicUsize,
}

impl Fixture {
    fn new(max_kept: Option<usize>) -> Arc<Self> {
        Self::with_store(max_kept, None)
    }

    fn with_store(
        max_kept: Option<usize>,
        store: Option<Arc<InMemoryChatMemoryStore>>,
    ) -> Arc<Self> {
        let conversations = Conversations::new(max_kept);
        let unused = |()| Use { is_locked: AtomicBool::new(false), created: AtomicUsize::new(0) };
        Arc::new(Self { conversations, used: [(); 2].map(unused), store })
    }

    fn provide(&self, who: usize) -> Result<Arc<dyn ChatMemory>> {
        self.used[who].created.fetch_add(1, Ordering::SeqCst);
        let builder = MessageWindowChatMemory::builder().id(id(who)).max_messages(9);
        Ok(match &self.store {
            Some(store) => Arc::new(builder.store(Arc::clone(store)).build()?),
            None => Arc::new(builder.build()?),
        })
    }

    /// Makes a call: locks the conversation, uses its memory and unlocks it.
    fn call(&self, who: usize) {
        let id = id(who);
        self.hold(who, &block_on(self.conversations.lock(&id, ConcurrentCalls::Queue)).unwrap());
    }

    fn hold(&self, who: usize, lock: &ConversationLock) {
        let was_locked = self.used[who].is_locked.swap(true, Ordering::SeqCst);
        assert!(!was_locked, "two calls of one id run at once");
        lock.memory(|| self.provide(who)).unwrap();
        self.used[who].is_locked.store(false, Ordering::SeqCst);
    }

    fn created(&self) -> [usize; 2] {
        [0, 1].map(|who| self.used[who].created.load(Ordering::SeqCst))
    }
}

fn id(who: usize) -> MemoryId {
    MemoryId::from(["ann", "bob"][who])
}

/// Runs a test in every order of its operations, or in those with at most this many preemptions: longer
/// tests have too many orders for all of them.
fn explore(max_preemptions: Option<usize>, test: impl Fn() + Send + Sync + 'static) {
    let orders = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&orders);
    let mut model = loom::model::Builder::new();
    model.preemption_bound = max_preemptions;
    model.check(move || {
        counted.fetch_add(1, Ordering::Relaxed);
        test();
    });
    let orders = orders.load(Ordering::Relaxed);
    assert!(orders > 10, "loom explored {orders} orders only");
}

/// Runs these calls at once, the last one on the current thread.
fn call_at_once<const N: usize>(fixture: &Arc<Fixture>, calls: [&'static [usize]; N]) {
    let (last, others) = calls.split_last().unwrap();
    let run = |fixture: Arc<Fixture>, calls: &[usize]| {
        calls.iter().for_each(|who| fixture.call(*who));
    };
    let threads: Vec<_> = others
        .iter()
        .map(|&calls| {
            let fixture = Arc::clone(fixture);
            thread::spawn(move || run(fixture, calls))
        })
        .collect();
    run(Arc::clone(fixture), last);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

#[test]
fn calls_of_one_id_run_one_after_the_other() {
    explore(None, || {
        let fixture = Fixture::new(None);
        call_at_once(&fixture, [&[0], &[0]]);
        assert_eq!(fixture.created(), [1, 0]);
        assert_eq!(fixture.conversations.len(), 1);
    });
}

#[test]
fn three_calls_of_one_id_run_one_after_the_other() {
    explore(Some(2), || {
        let fixture = Fixture::new(None);
        call_at_once(&fixture, [&[0], &[0], &[0]]);
        assert_eq!(fixture.created(), [1, 0]);
        assert_eq!(fixture.conversations.len(), 1);
    });
}

#[test]
fn memories_within_the_bound_are_created_once() {
    explore(Some(3), || {
        let fixture = Fixture::new(Some(2));
        call_at_once(&fixture, [&[0, 1], &[1, 0]]);
        assert_eq!(fixture.created(), [1, 1]);
        assert_eq!(fixture.conversations.len(), 2);
    });
}

#[test]
fn bound_drops_idle_memories_only() {
    explore(Some(3), || {
        let fixture = Fixture::new(Some(1));
        call_at_once(&fixture, [&[0], &[0], &[1]]);
        assert_eq!(fixture.conversations.len(), 1);
    });
}

#[test]
fn memory_in_use_is_not_replaced() {
    explore(None, || {
        let fixture = Fixture::new(Some(0));
        let other = {
            let fixture = Arc::clone(&fixture);
            thread::spawn(move || fixture.call(1))
        };
        let id = id(0);
        let lock = fixture.conversations.lock(&id, ConcurrentCalls::Queue);
        let lock = block_on(lock).unwrap();
        let memory = lock.memory(|| fixture.provide(0)).unwrap();
        let same = fixture.conversations.memory(&id, || fixture.provide(0)).unwrap();
        assert!(Arc::ptr_eq(&memory, &same));
        drop(lock);
        other.join().unwrap();
        assert_eq!(fixture.conversations.len(), 0);
    });
}

#[test]
fn conversation_in_a_store_takes_no_space() {
    explore(Some(3), || {
        let fixture = Fixture::with_store(Some(1), Some(Arc::default()));
        call_at_once(&fixture, [&[0], &[0], &[1]]);
        assert_eq!(fixture.conversations.len(), 0);
    });
}

/// Tries to call `ann` while others do, and gives up if she is busy.
fn call_beside(
    fixture: &Arc<Fixture>,
    others: [&'static [usize]; 2],
    attempt: impl FnOnce(&Fixture) -> Option<ConversationLock> + Send + 'static,
) {
    let attempting = {
        let fixture = Arc::clone(fixture);
        thread::spawn(move || {
            if let Some(lock) = attempt(&fixture) {
                fixture.hold(0, &lock);
            }
        })
    };
    call_at_once(fixture, others);
    attempting.join().unwrap();
    assert_eq!(fixture.conversations.len(), 1);
}

#[test]
fn dropped_waiter_does_not_block_the_queue() {
    explore(Some(3), || {
        let fixture = Fixture::new(Some(1));
        call_beside(&fixture, [&[0], &[0]], |fixture| {
            let lock = fixture.conversations.lock(&id(0), ConcurrentCalls::Queue).now_or_never();
            lock.map(Result::unwrap)
        });
        assert_eq!(fixture.created(), [1, 0]);
    });
}

#[test]
fn rejected_call_leaves_no_trace() {
    explore(Some(3), || {
        let fixture = Fixture::new(Some(1));
        call_beside(&fixture, [&[0], &[1]], |fixture| {
            let id = id(0);
            let lock = block_on(fixture.conversations.lock(&id, ConcurrentCalls::Reject));
            assert!(lock.as_ref().err().is_none_or(|error| error.kind() == ErrorKind::Busy));
            lock.ok()
        });
    });
}

#[test]
fn calls_on_a_shared_memory_run_one_after_the_other() {
    explore(None, || {
        let slot = Arc::new(ConversationSlot::new(None));
        let is_locked = Arc::new(AtomicBool::new(false));
        let call = move || {
            let id = id(0);
            let lock = ConversationLock::of_slot(&slot, &id, ConcurrentCalls::Queue);
            let lock = block_on(lock).unwrap();
            assert!(!is_locked.swap(true, Ordering::SeqCst), "two calls run at once");
            is_locked.store(false, Ordering::SeqCst);
            drop(lock);
        };
        let other = thread::spawn(call.clone());
        call();
        other.join().unwrap();
    });
}

#[test]
fn memory_is_evicted_once() {
    explore(None, || {
        let fixture = Fixture::new(Some(2));
        fixture.call(0);
        let evicting = {
            let fixture = Arc::clone(&fixture);
            thread::spawn(move || fixture.conversations.evict(&id(0)))
        };
        let evicted = fixture.conversations.evict(&id(0));
        assert!(evicted ^ evicting.join().unwrap());
        assert_eq!(fixture.conversations.len(), 0);
        fixture.call(0);
        assert_eq!(fixture.created(), [2, 0]);
    });
}
