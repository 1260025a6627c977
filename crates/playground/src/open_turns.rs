//! The open turns of a service, with their requests observed.

use crate::run::{Observed, Run};
use ai_services_core::answer::{OpenTurns, StreamEvent};
use ai_services_core::approval::PendingTurn;
use ai_services_core::memory::MemoryId;
use ai_services_core::model::TokenUsage;
use ai_services_core::{Error, ErrorKind, InvocationContext, Result};
use async_trait::async_trait;
use futures_util::stream::{self, BoxStream, StreamExt};
use std::sync::Arc;

/// The open turns of a service. The rest of a turn is a run of its own.
#[derive(Clone)]
pub(crate) struct ObservedTurns {
    service: Arc<str>,
    turns: Arc<dyn OpenTurns>,
}

impl ObservedTurns {
    pub(crate) fn new(service: Arc<str>, turns: impl OpenTurns + 'static) -> Self {
        Self { service, turns: Arc::new(turns) }
    }

    /// Returns the name under which the service is registered.
    pub(crate) fn service(&self) -> &Arc<str> {
        &self.service
    }

    /// Returns a stream with the calls of a conversation that wait, as the stream of their turn has ended. Nothing runs.
    pub(crate) fn pending_stream(&self, id: &MemoryId) -> BoxStream<'static, Result<StreamEvent>> {
        let (turns, id) = (Arc::clone(&self.turns), id.clone());
        let pending = async move {
            let pending = turns.pending_turn(&id).await?;
            let pending = pending.ok_or_else(no_longer_waits)?;
            Ok(StreamEvent::Pending(Box::new(pending)))
        };
        // Every turn has a usage before it waits. Without it, an earlier turn would wait.
        let usage = async { Ok(StreamEvent::Usage(TokenUsage::default())) };
        stream::once(usage).chain(stream::once(pending)).boxed()
    }
}

fn no_longer_waits() -> Error {
    Error::new(ErrorKind::Conflict, "the turn no longer waits").with_retryable(false)
}

#[async_trait]
impl OpenTurns for ObservedTurns {
    async fn pending_turn(&self, id: &MemoryId) -> Result<Option<PendingTurn>> {
        self.turns.pending_turn(id).await
    }

    fn resume_stream(
        &self,
        id: &MemoryId,
        context: InvocationContext,
    ) -> BoxStream<'static, Result<StreamEvent>> {
        let run = Run::new(Arc::clone(&self.service), None, "");
        Box::pin(Observed::new(&run, self.turns.resume_stream(id, context)))
    }
}
