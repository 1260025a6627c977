//! Decisions of clients about turns that wait.

mod reply;

pub(crate) use reply::{ClientReply, Edits, ReplyAction, read_id};

use crate::answer::Events;
use crate::interrupt_id::InterruptId;
use crate::principal::Principal;
use crate::problem::Problem;
use crate::tool_tracker::{DecidedCall, ResumedCall, ToolTracker};
use ai_services_core::answer::OpenTurns;
use ai_services_core::approval::{Decision, PendingCall, PendingTurn};
use ai_services_core::memory::{ChatMemoryStore, MemoryId};
use ai_services_core::{Error, ErrorKind};
use http::StatusCode;
use reply::decisions;
use std::fmt;
use std::sync::Arc;

/// Lets the clients of a service decide about its turns that wait: approve or deny tool calls, answer questions of tools,
/// and look for the end of tasks. The turn then goes on, streamed in the protocol of the client.
///
/// A client decides about the turns of its own conversations only: those of the authenticated principal. If another
/// person has to decide, such as a manager, do not set this. Let the application decide with
/// [`PendingTurn::decide`](ai_services_core::approval::PendingTurn::decide) and resume the turn.
///
/// # Examples
///
/// ```
/// use ai_services::memory::{InMemoryChatMemoryStore, MemoryId, MessageWindowChatMemory};
/// use ai_services::serve::{ChatServer, ClientDecisions, Principal};
/// use ai_services::testing::ScriptedChatModel;
/// use ai_services::{AiService, AnswerStream, DurableTurns, ai_service, tool};
///
/// #[ai_service]
/// trait Support {
///     fn chat(&self, #[memory_id] conversation: &MemoryId, #[user_message] text: &str) -> AnswerStream;
/// }
///
/// /// Refunds an order.
/// #[tool(requires_approval)]
/// fn refund(order: &str) -> String {
///     format!("refunded {order}")
/// }
///
/// # fn main() -> ai_services::Result<()> {
/// let store = InMemoryChatMemoryStore::new();
/// let memories = store.clone();
/// let support = SupportService::builder()
///     .chat_model(ScriptedChatModel::replies(["Hello."]))
///     .tools(refund::tool())
///     .chat_memory_provider(move |id| {
///         MessageWindowChatMemory::builder().id(id).max_messages(20).store(memories.clone()).build()
///     })
///     .durable_turns(DurableTurns::new())
///     .build()?;
/// let decisions = ClientDecisions::new(AiService::clone(&support), store);
/// let server = ChatServer::builder()
///     .authenticate(async |_| Ok(Principal::new("ann")))
///     .service("support", move |turn| support.chat(turn.memory_id(), turn.text()))
///     .decisions("support", decisions)
///     .build()?;
/// # let _ = server;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[must_use]
pub struct ClientDecisions {
    turns: Arc<dyn OpenTurns>,
    store: Arc<dyn ChatMemoryStore>,
    edits: Edits,
}

impl ClientDecisions {
    /// Creates the access to the turns of a service, which must be the one that answers, or a clone. `store` has the
    /// conversations of the service, and of the services that are its tools. The service needs
    /// [durable turns](https://docs.rs/ai-services/latest/ai_services/docs/durable/index.html).
    pub fn new(turns: impl OpenTurns + 'static, store: impl ChatMemoryStore + 'static) -> Self {
        Self { turns: Arc::new(turns), store: Arc::new(store), edits: Edits::Refused }
    }

    /// Accepts approvals with other arguments than those of the model. Only AG-UI has a place for them. Default: they are
    /// refused with status 403, and nothing is decided.
    pub fn accept_edits(mut self) -> Self {
        self.edits = Edits::Accepted;
        self
    }

    pub(crate) fn edits(&self) -> Edits {
        self.edits
    }

    /// Decides about the turn of a conversation that waits, and begins the rest of its stream. Nothing is decided if one of
    /// the replies is not valid.
    pub(crate) async fn resume(
        &self,
        principal: &Principal,
        memory_id: &MemoryId,
        replies: Vec<ClientReply>,
    ) -> Result<Resumed, Problem> {
        let position = check_ids(memory_id, &replies)?;
        let pending = self.turns.pending_turn(memory_id).await.map_err(|error| failed(&error))?;
        let pending = pending.filter(|pending| pending.position == position);
        let pending = pending.ok_or_else(no_longer_waits)?;
        let ids: Vec<InterruptId> = replies.iter().map(|reply| reply.id.clone()).collect();
        let decisions = decisions(&pending, replies, self.edits)?;
        if !decisions.is_empty() {
            self.decide(&pending, decisions.clone()).await?;
        }
        let events = self.turns.resume_stream(memory_id, principal.context().clone());
        Ok(Resumed { events, tools: tracker(&pending, &ids, &decisions) })
    }

    async fn decide(&self, pending: &PendingTurn, decisions: Vec<Decision>) -> Result<(), Problem> {
        if self.store.journals().is_none() {
            let error = "the store of `ClientDecisions` has no journals";
            return Err(failed(&Error::configuration(error)));
        }
        pending.decide(&*self.store, decisions).await.map_err(|error| match error.kind() {
            ErrorKind::Conflict => no_longer_waits(),
            // The replies do not fit: the store has journals.
            ErrorKind::Configuration => {
                Problem::new(StatusCode::BAD_REQUEST, "invalid_decision", error.to_string())
            }
            _ => failed(&error),
        })
    }
}

impl fmt::Debug for ClientDecisions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientDecisions").field("edits", &self.edits).finish_non_exhaustive()
    }
}

/// The rest of a turn that was decided.
pub(crate) struct Resumed {
    pub(crate) events: Events,
    pub(crate) tools: ToolTracker,
}

/// Returns the position that all replies name.
fn check_ids(memory_id: &MemoryId, replies: &[ClientReply]) -> Result<String, Problem> {
    // Also if the turn belongs to a conversation of another principal.
    if !replies.iter().all(|reply| reply.id.belongs_to(memory_id)) {
        return Err(Problem::new(
            StatusCode::NOT_FOUND,
            "decision_not_found",
            "this conversation has no such request for a decision",
        ));
    }
    let mut positions = replies.iter().map(|reply| &reply.id.position);
    let position = positions.next().ok_or_else(|| Problem::invalid("there is no decision"))?;
    if positions.any(|other| other != position) {
        return Err(Problem::invalid("the decisions are about different states of the turn"));
    }
    Ok(position.clone())
}

fn no_longer_waits() -> Problem {
    Problem::new(
        StatusCode::CONFLICT,
        "conflict",
        "the turn no longer waits for this decision: it was decided, has expired or was cancelled",
    )
}

fn failed(error: &Error) -> Problem {
    tracing::warn!(kind = ?error.kind(), "a decision failed");
    Problem::of_call(error, None)
}

/// Returns the tracker of the calls whose ids the client has. Without decisions, the calls wait for tasks.
fn tracker(pending: &PendingTurn, ids: &[InterruptId], decisions: &[Decision]) -> ToolTracker {
    let call = |(index, call): (usize, &PendingCall)| {
        let id = ids.iter().find(|id| id.call == index)?;
        let decided = match decisions.get(index) {
            Some(Decision::Edit(arguments)) => DecidedCall::Edited(arguments.clone()),
            Some(Decision::Deny(_)) => DecidedCall::Denied,
            _ => DecidedCall::AsWritten,
        };
        let (tool, arguments) = (call.tool.clone(), call.arguments.clone());
        Some(ResumedCall { id: id.call_id.clone(), tool, arguments, decided })
    };
    let calls = pending.calls.iter().enumerate().filter_map(call).collect();
    ToolTracker::resumed(calls, ids.first().map(|id| id.open_ids.clone()).unwrap_or_default())
}
