//! Resumption of open turns, without the callers that began them.

use super::call::ServiceCall;
use super::conversations::ConcurrentCalls;
use super::handle::AiService;
use super::invoke;
use super::memory_session::{Ended, MemorySession, end_lease, max_wait};
use super::open_turn::{self, Due};
use super::resumed_turn::{ResumedReply, ResumedTurn};
use super::stream::{AnswerStream, EventQueue};
use crate::approval::{PendingTurn, now};
use crate::memory::{ChatMemoryStore, ConversationJournal, Lease, MemoryId, ToMemoryId};
use crate::{Error, ErrorKind, InvocationContext, Result, async_trait};
use ai_services_core::answer::{OpenTurns, StreamEvent};
use futures_util::stream::{BoxStream, StreamExt};
use std::pin::pin;
use std::sync::Arc;

/// Number of open journals that a page of [`AiService::recover`] lists.
const PAGE: usize = 100;

/// The outcome of [`AiService::recover`].
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Recovery {
    /// The turns that were resumed and stored.
    pub resumed: Vec<ResumedTurn>,
    /// The conversations whose open turn could not be finished, with the errors.
    pub failed: Vec<(MemoryId, Error)>,
    /// The open turns that wait, for example for [approval](crate::approval).
    pub waiting: Vec<PendingTurn>,
    /// Number of open turns that another call or process is running.
    pub busy: usize,
}

impl AiService {
    /// Resumes the open turn of a conversation and stores it. Returns `None` if no turn is open.
    ///
    /// The tools get an empty [`InvocationContext`]: see [`resume_with`](Self::resume_with).
    ///
    /// # Errors
    ///
    /// Fails as the call that began the turn. Returns [`ErrorKind::Busy`](crate::ErrorKind::Busy) at the time limit
    /// of the lease if another process runs the turn. Returns
    /// [`ErrorKind::Configuration`](crate::ErrorKind::Configuration) if the service was built without
    /// [`durable_turns`](crate::AiServiceBuilder::durable_turns), or no longer has the method of the turn.
    pub async fn resume<I: ToMemoryId + ?Sized>(&self, id: &I) -> Result<Option<ResumedTurn>> {
        self.resume_with(id, InvocationContext::new()).await
    }

    /// Resumes the open turn of a conversation as [`resume`](Self::resume) does, with application data for its
    /// tools, retrieval and listeners. The context of the call that began the turn is not stored.
    ///
    /// # Errors
    ///
    /// Same as [`resume`](Self::resume).
    pub async fn resume_with<I: ToMemoryId + ?Sized>(
        &self,
        id: &I,
        context: InvocationContext,
    ) -> Result<Option<ResumedTurn>> {
        self.run(&id.to_memory_id(), self.resumption(context, None)).await
    }

    /// Resumes the open turn of a conversation as [`resume_with`](Self::resume_with) does, and streams the rest of it.
    ///
    /// The stream has the events from here on: answers of the model and results of tools that the journal contains are
    /// not repeated. The value of the answer is its text, which has passed the check of the method's type. Nothing
    /// happens before the first poll. If the turn is suspended again, the last event is [`StreamEvent::Pending`].
    ///
    /// # Errors
    ///
    /// The stream fails as [`resume`](Self::resume) does. It fails with
    /// [`ErrorKind::Conflict`](crate::ErrorKind::Conflict) if no turn is open.
    ///
    /// # Cancellation
    ///
    /// Dropping the stream interrupts the turn as the end of the process would: the journal stays, and the turn can be
    /// resumed again.
    ///
    /// # Examples
    ///
    /// ```
    /// use ai_services::approval::Decision;
    /// use ai_services::memory::{InMemoryChatMemoryStore, MessageWindowChatMemory};
    /// use ai_services::message::ToolCall;
    /// use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
    /// use ai_services::{AnswerStream, DurableTurns, InvocationContext, StreamEvent, ai_service, tool};
    ///
    /// #[ai_service]
    /// trait Support {
    ///     fn chat(&self, #[memory_id] user: &str, #[user_message] text: &str) -> AnswerStream;
    /// }
    ///
    /// /// Refunds an order.
    /// #[tool(requires_approval)]
    /// fn refund(order: &str) -> String {
    ///     format!("refunded {order}")
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> ai_services::Result<()> {
    /// let store = InMemoryChatMemoryStore::new();
    /// let memories = store.clone();
    /// let support = SupportService::builder()
    ///     .chat_model(ScriptedChatModel::new([
    ///         ScriptedAnswer::tool_calls([ToolCall::new("1", "refund", r#"{"order":"A7"}"#)]),
    ///         ScriptedAnswer::text("It is refunded."),
    ///     ]))
    ///     .tools(refund::tool())
    ///     .chat_memory_provider(move |user| {
    ///         let window = MessageWindowChatMemory::builder().id(user).max_messages(20);
    ///         window.store(memories.clone()).build()
    ///     })
    ///     .durable_turns(DurableTurns::new())
    ///     .build()?;
    ///
    /// let mut stream = support.chat("ann", "Refund A7!");
    /// while let Some(event) = stream.next().await {
    ///     if let StreamEvent::Pending(pending) = event? {
    ///         pending.decide(&store, [Decision::Approve]).await?;
    ///     }
    /// }
    /// let mut stream = support.resume_stream("ann", InvocationContext::new());
    /// let mut text = String::new();
    /// while let Some(event) = stream.next().await {
    ///     match event? {
    ///         StreamEvent::ToolFinished(execution) => println!("{}", execution.call().name()),
    ///         StreamEvent::Text(piece) => text.push_str(&piece),
    ///         _ => {}
    ///     }
    /// }
    /// assert_eq!(text, "It is refunded.");
    /// # Ok(())
    /// # }
    /// ```
    pub fn resume_stream<I: ToMemoryId + ?Sized>(
        &self,
        id: &I,
        context: InvocationContext,
    ) -> AnswerStream {
        let (service, id) = (self.clone(), id.to_memory_id());
        let queue = Arc::new(EventQueue::default());
        let resumption = self.resumption(context, Some(Arc::clone(&queue)));
        let outcome = async move {
            let turn = service.run(&id, resumption).await?.ok_or_else(nothing_open)?;
            Ok(turn.into_text_response())
        };
        AnswerStream::of_call(queue, Box::pin(outcome), None)
    }

    fn resumption(&self, context: InvocationContext, queue: Option<Arc<EventQueue>>) -> Resumption {
        let concurrent_calls = self.components().settings.concurrent_calls;
        Resumption { context, concurrent_calls, other_services: OtherServices::Fail, queue }
    }

    /// Resumes at most `limit` open turns of a store. An application calls it when it starts, and from a timer of
    /// its own.
    ///
    /// A turn that is running in this service is skipped. So is one that runs in another process, if the store has
    /// [leases](crate::memory::ConversationLeases). Without leases, a turn that another process runs is taken over:
    /// none of its tools runs twice, but the call in the other process fails with
    /// [`ErrorKind::Conflict`](crate::ErrorKind::Conflict). Open turns of other services in the same store are
    /// left alone.
    ///
    /// # Errors
    ///
    /// Fails if the store has no journals, or cannot list them. Errors of single turns are in the
    /// [`Recovery`].
    pub async fn recover(
        &self,
        store: &(impl ChatMemoryStore + ?Sized),
        limit: usize,
    ) -> Result<Recovery> {
        self.check_durable()?;
        let error = || Error::configuration("the store has no journals, so it has no open turns");
        let journals = store.journals().ok_or_else(error)?;
        let mut recovery = Recovery::default();
        let mut after = None;
        while recovery.resumed.len() + recovery.failed.len() < limit {
            let page = journals.open_journals(after.as_ref(), PAGE).await?;
            let Some(last) = page.last() else { break };
            after = Some(last.id.clone());
            for open in &page {
                if recovery.resumed.len() + recovery.failed.len() < limit {
                    self.recover_one(&open.id, &mut recovery).await;
                }
            }
        }
        Ok(recovery)
    }

    /// Returns the tool calls of a conversation that wait, for example for [approval](crate::approval), if there are
    /// any.
    ///
    /// If the turn waits for a service that is one of its tools, these are the calls of that service.
    ///
    /// # Errors
    ///
    /// Fails if the memory has no journal, or the store fails.
    pub async fn pending_turn<I: ToMemoryId + ?Sized>(
        &self,
        id: &I,
    ) -> Result<Option<PendingTurn>> {
        let journal = self.journal(&id.to_memory_id())?;
        let Some(turn) = open_turn::read(&journal).await? else { return Ok(None) };
        if let Some(pending) = turn.pending(journal.id(), now()) {
            return Ok(Some(pending));
        }
        let nested = open_turn::nested_pending(&self.components().toolbox, &turn).await?;
        let nested = nested.map(|(_, pending)| pending);
        Ok(nested.or_else(|| open_turn::pending_tasks(&turn, journal.id(), Due::Anytime)))
    }

    pub(super) fn journal(&self, id: &MemoryId) -> Result<ConversationJournal> {
        let memory = match self.components().memories.id_of(id) {
            Some(id) => self.chat_memory(&id)?,
            None => self.shared_chat_memory().ok_or_else(no_journal)?,
        };
        memory.journal().ok_or_else(no_journal)
    }

    async fn recover_one(&self, id: &MemoryId, recovery: &mut Recovery) {
        let resumption = Resumption {
            context: InvocationContext::new(),
            concurrent_calls: ConcurrentCalls::Reject,
            other_services: OtherServices::Skip,
            queue: None,
        };
        match self.run(id, resumption).await {
            Ok(Some(turn)) => recovery.resumed.push(turn),
            // Another process was faster, or the turn belongs to another service.
            Ok(None) => {}
            Err(error) if error.kind() == ErrorKind::Busy && error.is_retryable() => {
                recovery.busy += 1;
            }
            Err(error) => match error.detail::<PendingTurn>() {
                Some(pending) => recovery.waiting.push(pending.clone()),
                None => recovery.failed.push((id.clone(), error)),
            },
        }
    }

    /// Deletes the journal of the open turn of a conversation, without a change of the conversation. Returns `true`
    /// if a turn was open.
    ///
    /// The effects of the tools that ran remain, and the model does not learn of them. If a process still runs the
    /// turn, its call fails with [`ErrorKind::Conflict`](crate::ErrorKind::Conflict).
    ///
    /// # Errors
    ///
    /// Fails if the memory has no journal, or the store fails. Returns
    /// [`ErrorKind::Conflict`](crate::ErrorKind::Conflict) if the turn went on meanwhile.
    pub async fn cancel_open_turn<I: ToMemoryId + ?Sized>(&self, id: &I) -> Result<bool> {
        let journal = self.journal(&id.to_memory_id())?;
        let Some(open) = journal.read().await? else { return Ok(false) };
        journal.discard(open.position()).await.map(|()| true)
    }

    /// Locks the conversation, and resumes its open turn.
    async fn run(&self, id: &MemoryId, resumption: Resumption) -> Result<Option<ResumedTurn>> {
        self.check_durable()?;
        let components = self.components();
        let policy = resumption.concurrent_calls;
        let locked = components.memories.id_of(id);
        let session = MemorySession::open(components, locked.as_ref(), "resume", policy).await?;
        let resuming = async {
            let lease = session.lease(max_wait(policy)).await?;
            let outcome = self.run_locked(id, &session, lease.as_ref(), resumption).await;
            end_lease(lease, outcome.as_ref().ok().map(|(ended, _)| *ended)).await;
            outcome.map(|(_, resumed)| resumed)
        };
        session.run(components, locked.as_ref(), pin!(resuming)).await
    }

    async fn run_locked(
        &self,
        id: &MemoryId,
        session: &MemorySession,
        lease: Option<&Lease>,
        resumption: Resumption,
    ) -> Result<(Ended, Option<ResumedTurn>)> {
        let nothing = (Ended::Unchanged, None);
        let Some(journal) = session.journal("resume")? else { return Ok(nothing) };
        let Some(open) = open_turn::read(&journal).await? else { return Ok(nothing) };
        let (components, began) = (self.components(), open.began());
        let is_other = began.service != components.name;
        if is_other && resumption.other_services == OtherServices::Skip {
            return Ok(nothing);
        }
        let memory_id = components.memories.id_of(id);
        let Resumption { context, queue, .. } = resumption;
        let call = ServiceCall::of_open_turn(components, began, memory_id, context, queue)?;
        let turn = open.position().turn;
        let mut reply = ResumedReply::new(call.plan.check_answer);
        let ended = invoke::resume(&call, session, lease, turn, &mut reply).await?;
        let (memory_id, method) = (id.clone(), began.method.clone());
        let request = call.request_id().cloned();
        let resumed = |response| ResumedTurn { memory_id, turn, method, request, response };
        Ok((ended, reply.into_response().map(resumed)))
    }

    fn check_durable(&self) -> Result<()> {
        match self.components().settings.durable_turns {
            Some(_) => Ok(()),
            None => Err(Error::configuration(
                "the service does not resume turns; call `.durable_turns(...)` before `.build()`",
            )),
        }
    }
}

#[async_trait]
impl OpenTurns for AiService {
    async fn pending_turn(&self, id: &MemoryId) -> Result<Option<PendingTurn>> {
        self.pending_turn(id).await
    }

    fn resume_stream(
        &self,
        id: &MemoryId,
        context: InvocationContext,
    ) -> BoxStream<'static, Result<StreamEvent>> {
        self.resume_stream(id, context).boxed()
    }
}

/// The error of a stream that finds no open turn.
fn nothing_open() -> Error {
    Error::new(ErrorKind::Conflict, "no turn is open in this conversation").with_retryable(false)
}

/// The error of a memory without a journal.
fn no_journal() -> Error {
    Error::configuration("the memory has no journal, so it has no open turns")
}

/// A request to resume an open turn.
struct Resumption {
    context: InvocationContext,
    /// Policy for a conversation that is in use.
    concurrent_calls: ConcurrentCalls,
    other_services: OtherServices,
    /// The queue of the stream, if the rest of the turn is streamed.
    queue: Option<Arc<EventQueue>>,
}

/// The reaction to an open turn of another service.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OtherServices {
    Fail,
    Skip,
}
