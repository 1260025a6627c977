//! The parts of a server that its endpoints share.

use crate::answer::{ErrorMessage, Phase, RunningAnswer};
use crate::principal::Authenticate;
use crate::problem::Problem;
use crate::service::NamedService;
use crate::turn::UserTurn;
use http::{HeaderName, StatusCode};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Semaphore, watch};
use tokio::time::Instant;

/// The parts of a server that its endpoints share.
pub(crate) struct ServerState {
    pub(crate) services: Vec<NamedService>,
    pub(crate) authenticate: Authenticate,
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

    /// Begins an answer, if the limits permit.
    pub(crate) fn answer(
        &self,
        service: &NamedService,
        turn: &UserTurn,
    ) -> Result<RunningAnswer, Problem> {
        let permit = Arc::clone(&self.permits).try_acquire_owned().map_err(|_| Problem::busy())?;
        Ok(RunningAnswer {
            events: service.answer(turn),
            deadline: Instant::now() + self.time_limit,
            phase: self.phase.subscribe(),
            error_message: self.error_message.clone(),
            _permit: permit,
        })
    }
}
