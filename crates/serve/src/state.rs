//! The parts of a server that its endpoints share.

use crate::answer::{Cause, ErrorMessage, Events, Phase, RunningAnswer};
use crate::decisions::ClientReply;
use crate::principal::{Authenticate, MemoryIdRule, Principal};
use crate::problem::Problem;
use crate::service::NamedService;
use crate::tool_tracker::ToolTracker;
use crate::turn::{Conversation, UserTurn};
use ai_services_core::memory::MemoryId;
use http::{HeaderName, StatusCode};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::Instant;

/// The parts of a server that its endpoints share.
pub(crate) struct ServerState {
    pub(crate) services: Vec<NamedService>,
    pub(crate) authenticate: Authenticate,
    pub(crate) memory_id: MemoryIdRule,
    pub(crate) conversation_header: HeaderName,
    pub(crate) max_body_bytes: usize,
    pub(crate) error_message: Option<ErrorMessage>,
    pub(crate) time_limit: Duration,
    pub(crate) shutdown_grace: Duration,
    pub(crate) permits: Arc<Semaphore>,
    pub(crate) phase: watch::Sender<Phase>,
}

impl ServerState {
    /// Returns a service by its name.
    pub(crate) fn service(&self, name: &str) -> Result<&NamedService, Problem> {
        self.services.iter().find(|service| &*service.name == name).ok_or_else(|| {
            Problem::new(
                StatusCode::NOT_FOUND,
                "model_not_found",
                "there is no service of this name",
            )
        })
    }

    /// Returns the memory id of a conversation of a principal.
    pub(crate) fn memory_id(&self, principal: &Principal, conversation: &Conversation) -> MemoryId {
        (self.memory_id)(principal, conversation.as_str())
    }

    /// Begins an answer, if the limits permit.
    pub(crate) fn answer(
        &self,
        service: &NamedService,
        turn: &UserTurn,
    ) -> Result<RunningAnswer, Problem> {
        let permit = self.permit()?;
        Ok(self.run(service.answer(turn), Cause::Message, permit))
    }

    /// Decides about the turn of a conversation that waits, and begins the rest of its answer, if the limits permit. Returns
    /// the tool calls that the client has already, too.
    pub(crate) async fn resume(
        &self,
        service: &NamedService,
        principal: &Principal,
        memory_id: &MemoryId,
        replies: Vec<ClientReply>,
    ) -> Result<(RunningAnswer, ToolTracker), Problem> {
        let decisions = service.decisions.as_ref().ok_or_else(|| {
            Problem::new(
                StatusCode::BAD_REQUEST,
                "unsupported_resume",
                "clients do not decide about the turns of this service",
            )
        })?;
        let permit = self.permit()?;
        let resumed = decisions.resume(principal, memory_id, replies).await?;
        Ok((self.run(resumed.events, Cause::OwnTurn, permit), resumed.tools))
    }

    fn permit(&self) -> Result<OwnedSemaphorePermit, Problem> {
        Arc::clone(&self.permits).try_acquire_owned().map_err(|_| Problem::busy())
    }

    fn run(&self, events: Events, cause: Cause, permit: OwnedSemaphorePermit) -> RunningAnswer {
        RunningAnswer {
            events,
            cause,
            deadline: Instant::now() + self.time_limit,
            phase: self.phase.subscribe(),
            error_message: self.error_message.clone(),
            _permit: permit,
        }
    }
}
