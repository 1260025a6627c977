//! The memory of one call: locked, loaded once, fitted into its window, committed once.

use super::call::ServiceCall;
use super::components::Components;
use super::conversations::{ConcurrentCalls, ConversationLock};
use super::held_conversations::{holding, is_held};
use crate::event::Event;
use crate::memory::{
    ChatMemory, CompletedTurn, ConversationJournal, Lease, MemoryId, Repair, RequestId, Snapshot,
    Summarizer,
};
use crate::message::ChatMessage;
use crate::model::ChatRequest;
use crate::{Error, Result};
use ai_services_core::trace::{StepSpan, count};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tracing::{Span, field};

/// The memory of one call, if it has one. No other call of the service uses the memory meanwhile.
pub(super) struct MemorySession(Option<(Arc<dyn ChatMemory>, ConversationLock)>);

impl MemorySession {
    /// Waits until no other call uses the memory, and locks it.
    ///
    /// # Errors
    ///
    /// If the call is made within another call that holds the same memory, and would wait for itself.
    pub(super) async fn open(
        components: &Arc<Components>,
        id: Option<&MemoryId>,
        method: &str,
        concurrent_calls: ConcurrentCalls,
    ) -> Result<Self> {
        if is_held(components, id) {
            return Err(reentrant_call(method, id));
        }
        let memories = &components.memories;
        if let Some(id) = id {
            if id.as_str().is_empty() {
                return Err(empty_id(method));
            }
            let lock = memories.conversations.lock(id, concurrent_calls).await?;
            let memory = lock.memory(|| memories.provide(id))?;
            return Ok(Self(Some((memory, lock))));
        }
        let Some(shared) = &memories.shared else { return Ok(Self(None)) };
        let memory = Arc::clone(&shared.memory);
        let lock = ConversationLock::of_slot(&shared.slot, memory.id(), concurrent_calls).await?;
        Ok(Self(Some((memory, lock))))
    }

    /// Runs the rest of the call. Calls on the same memory within it are errors.
    pub(super) async fn run<T>(
        &self,
        components: &Arc<Components>,
        id: Option<&MemoryId>,
        rest: Pin<&mut impl Future<Output = T>>,
    ) -> T {
        match self.0 {
            Some(_) => holding(components, id, rest).await,
            None => rest.await,
        }
    }

    /// Returns the memory itself. Calls through its `Arc` would box every future twice.
    fn memory(&self) -> Option<&dyn ChatMemory> {
        self.0.as_ref().map(|(memory, _)| &**memory)
    }

    /// Returns the journal of the conversation. `None` without a memory.
    ///
    /// # Errors
    ///
    /// If the store of the memory has no journals.
    pub(super) fn journal(&self, method: &str) -> Result<Option<ConversationJournal>> {
        let Some(memory) = self.memory() else { return Ok(None) };
        memory.journal().map(Some).ok_or_else(|| no_journals(method))
    }

    /// Fails if the request was answered before, as far as the log of the last commits tells.
    pub(super) async fn check_request(&self, request: &RequestId) -> Result<()> {
        match self.memory().and_then(ChatMemory::journal) {
            Some(journal) => journal.check_request(request).await,
            None => Ok(()),
        }
    }

    /// Waits until no other process uses the conversation, if its store supports leases.
    pub(super) async fn lease(&self, max_wait: Duration) -> Result<Option<Lease>> {
        let request = self.memory().and_then(|memory| memory.lease_request());
        match request {
            // In a box: few stores have leases.
            Some(request) => Box::pin(request.wait(max_wait)).await.map(Some),
            None => Ok(None),
        }
    }

    /// Loads the history. A malformed history is repaired and reported.
    pub(super) async fn load(&self, call: &ServiceCall) -> Result<Snapshot> {
        let Some(memory) = self.memory() else { return Ok(Snapshot::default()) };
        let mut step = StepSpan::new(load_span());
        let outcome = step.run(memory.load()).await;
        step.end(&outcome);
        let loaded = outcome?;
        let (version, messages) = (loaded.version(), loaded.messages().len());
        step.span().record("ai_services.memory.version", version.map(number));
        step.span().record("ai_services.memory.rows", count(messages));
        call.emit(&Event::MemoryLoaded { version, messages });
        let (snapshot, repair) = loaded.into_turns();
        if let Some(Repair { dropped, added, is_reordered }) = repair {
            tracing::warn!(
                dropped,
                added,
                is_reordered,
                "the stored history was malformed and was repaired"
            );
            call.emit(&Event::HistoryRepaired { dropped, added, is_reordered });
        }
        Ok(if memory.summarizer().is_some() { snapshot.with_summary() } else { snapshot })
    }

    /// Returns the summarizer, if the memory has one and a part of the history does not fit into the window.
    pub(super) fn overflow(
        &self,
        snapshot: &Snapshot,
        request: &ChatRequest,
    ) -> Option<&Summarizer> {
        let summarizer = self.memory()?.summarizer()?;
        let skipped = self.skipped(snapshot, request.system.as_ref(), &request.turn);
        (skipped.unwrap_or(0) > 0).then_some(summarizer)
    }

    /// Skips the messages of the history that do not fit into the window.
    pub(super) fn fit(&self, snapshot: &Snapshot, request: &mut ChatRequest) -> Result<()> {
        let skipped = self.skipped(snapshot, request.system.as_ref(), &request.turn)?;
        if snapshot.summary().is_some() {
            (request.history, request.skipped) = snapshot.sent(skipped);
        } else {
            request.skipped = snapshot.start() + skipped;
        }
        Ok(())
    }

    /// Returns how many messages of the history do not fit into the window with these messages.
    pub(super) fn skipped(
        &self,
        snapshot: &Snapshot,
        system: Option<&ChatMessage>,
        turn: &[ChatMessage],
    ) -> Result<usize> {
        self.memory().map_or(Ok(0), |memory| memory.fit(snapshot, system, turn))
    }

    /// Remembers the turn, completely or not at all, and reports it.
    pub(super) async fn commit(
        &self,
        call: &ServiceCall,
        turn: CompletedTurn,
        replays: u32,
    ) -> Result<()> {
        let Some(memory) = self.memory() else { return Ok(()) };
        let (based_on, messages) = (turn.snapshot().version(), turn.messages().len());
        let mut step = StepSpan::new(commit_span(based_on, messages, replays));
        let outcome = step.run(memory.commit(turn)).await;
        step.end(&outcome);
        outcome?;
        call.emit(&Event::TurnStored { based_on, messages });
        Ok(())
    }
}

fn load_span() -> Span {
    tracing::info_span!(
        "memory.load",
        otel.name = %"memory.load",
        otel.status_code = field::Empty,
        gen_ai.conversation.id = field::Empty,
        ai_services.memory.version = field::Empty,
        ai_services.memory.rows = field::Empty,
        error.r#type = field::Empty,
    )
}

/// Creates the span of a commit: the version that it replaces, its rows, and how often the turn was replayed.
fn commit_span(based_on: Option<u64>, messages: usize, replays: u32) -> Span {
    tracing::info_span!(
        "memory.commit",
        otel.name = %"memory.commit",
        otel.status_code = field::Empty,
        gen_ai.conversation.id = field::Empty,
        ai_services.memory.version = based_on.map(number),
        ai_services.memory.rows = count(messages),
        ai_services.memory.replays = i64::from(replays),
        error.r#type = field::Empty,
    )
}

fn number(version: u64) -> i64 {
    i64::try_from(version).unwrap_or(i64::MAX)
}

/// Ends the lease of a call that ended in this way, or failed.
pub(super) async fn end_lease(lease: Option<Lease>, ended: Option<Ended>) {
    match (lease, ended) {
        (Some(lease), Some(Ended::Stored)) => lease.mark_released(),
        (Some(lease), Some(Ended::Unchanged) | None) => Box::pin(lease.release()).await,
        (None, _) => {}
    }
}

/// The end of a successful call.
#[derive(Clone, Copy)]
pub(super) enum Ended {
    /// The turn was stored, which released the lease.
    Stored,
    /// The call stored nothing: the request was answered before, or no turn was open.
    Unchanged,
}

/// Returns how long a call waits for other processes. A store may set a lower limit.
pub(super) fn max_wait(concurrent_calls: ConcurrentCalls) -> Duration {
    match concurrent_calls {
        ConcurrentCalls::Queue => Duration::MAX,
        ConcurrentCalls::Reject => Duration::ZERO,
    }
}

/// The error of a call that would wait for the call around it.
fn reentrant_call(method: &str, id: Option<&MemoryId>) -> Error {
    let conversation = match id {
        Some(id) => format!("the conversation `{id}`"),
        None => "the shared chat memory".to_owned(),
    };
    Error::configuration(format!(
        "`{method}` was called within a call that uses {conversation}, and would wait for itself; use another memory id, or call it after the outer call has ended"
    ))
}

/// The error of a durable turn whose memory cannot keep a journal.
fn no_journals(method: &str) -> Error {
    Error::configuration(format!(
        "a call of `{method}` cannot be durable, because the store of its memory has no journals; use a store of \
         this framework, implement `ChatMemoryStore::journals` and `ChatMemory::journal`, or remove \
         `.durable_turns(...)`"
    ))
}

/// The error of an empty id: all callers without an id would share one memory.
fn empty_id(method: &str) -> Error {
    Error::configuration(format!("the memory id of a call of `{method}` is empty"))
}
