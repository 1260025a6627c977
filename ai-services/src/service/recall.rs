//! The memory of one call: leased, loaded once, fitted into its window, committed once.

use super::components::ConcurrentCalls;
use super::conversations::Lease;
use super::invocation::Invocation;
use crate::error::{Error, Result};
use crate::event::Event;
use crate::memory::{self, ChatMemory, CompletedTurn, Snapshot};
use crate::message::ChatMessage;
use crate::model::ChatRequest;
use std::sync::Arc;
use std::time::Duration;

/// The memory of one call, if it has one. While it is held, no other call uses the memory.
pub(super) struct Recall(Option<(Arc<dyn ChatMemory>, Lease)>);

/// The lease of a conversation in a store that several processes use.
pub(super) type StoreLease = memory::Lease;

impl Recall {
    /// The memory itself: called through its `Arc`, every future would be boxed twice.
    fn memory(&self) -> Option<&dyn ChatMemory> {
        self.0.as_ref().map(|(memory, _)| &**memory)
    }

    /// Waits until the memory is free.
    pub(super) async fn lease(invocation: &Invocation<'_>) -> Result<Self> {
        let memories = &invocation.components.memory;
        let concurrent_calls = memories.concurrent_calls;
        if let Some(id) = invocation.memory_id() {
            if id.as_str().is_empty() {
                return Err(empty_id(invocation.method.name));
            }
            let lease = memories.conversations.lease(id, concurrent_calls).await?;
            let memory = lease.memory(|| memories.provide(id))?;
            return Ok(Self(Some((memory, lease))));
        }
        let Some(shared) = &memories.shared else { return Ok(Self(None)) };
        let memory = Arc::clone(&shared.memory);
        let lease = Lease::of_slot(&shared.slot, memory.id(), concurrent_calls).await?;
        Ok(Self(Some((memory, lease))))
    }

    /// Waits until no other process uses the conversation, if its store gives leases.
    pub(super) async fn lease_from_store(
        &self,
        invocation: &Invocation<'_>,
    ) -> Result<Option<StoreLease>> {
        let request = self.memory().and_then(|memory| memory.lease_request());
        match request {
            Some(request) => request.wait(patience(invocation)).await.map(Some),
            None => Ok(None),
        }
    }

    /// What was said before. A history that others left ill-formed is repaired, and the repair told.
    pub(super) async fn load(&self, invocation: &Invocation<'_>) -> Result<Snapshot> {
        let Some(memory) = self.memory() else { return Ok(Snapshot::default()) };
        let (snapshot, repair) = memory.load().await?.into_turns();
        if repair.is_needed() {
            let (dropped, invented) = (repair.dropped, repair.invented);
            tracing::warn!(dropped, invented, "the stored history was ill-formed and was repaired");
            invocation.emit(&Event::HistoryRepaired { dropped, invented });
        }
        Ok(snapshot)
    }

    /// Leaves out of the request what the window has no room for.
    pub(super) fn fit(&self, snapshot: &Snapshot, request: &mut ChatRequest) -> Result<()> {
        let left_out = self.left_out(snapshot, request.system.as_ref(), &request.turn)?;
        request.skipped = snapshot.start() + left_out;
        Ok(())
    }

    /// How many messages of the history the window has no room for beside these.
    pub(super) fn left_out(
        &self,
        snapshot: &Snapshot,
        system: Option<&ChatMessage>,
        turn: &[ChatMessage],
    ) -> Result<usize> {
        self.memory().map_or(Ok(0), |memory| memory.fit(snapshot, system, turn))
    }

    /// Remembers the whole turn, or nothing.
    pub(super) async fn commit(&self, turn: CompletedTurn) -> Result<()> {
        match self.memory() {
            Some(memory) => memory.commit(turn).await,
            None => Ok(()),
        }
    }
}

/// How long a call waits for other processes. A store may set less.
pub(super) fn patience(invocation: &Invocation<'_>) -> Duration {
    match invocation.components.memory.concurrent_calls {
        ConcurrentCalls::Queue => Duration::MAX,
        ConcurrentCalls::Reject => Duration::ZERO,
    }
}

/// Whoever has no id would share a memory with everybody else who has none.
fn empty_id(method: &str) -> Error {
    Error::configuration(format!("the memory id of a call of `{method}` is empty"))
}
