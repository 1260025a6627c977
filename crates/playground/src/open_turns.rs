//! The open turns of a service, with their requests observed.

use crate::run::{Observed, Run};
use ai_services_core::answer::{OpenTurns, StreamEvent};
use ai_services_core::approval::PendingTurn;
use ai_services_core::memory::MemoryId;
use ai_services_core::{InvocationContext, Result};
use async_trait::async_trait;
use futures_util::stream::BoxStream;
use std::sync::Arc;

/// The open turns of a service. The rest of a turn is a run of its own.
pub(crate) struct ObservedTurns {
    service: Arc<str>,
    turns: Box<dyn OpenTurns>,
}

impl ObservedTurns {
    pub(crate) fn new(service: Arc<str>, turns: impl OpenTurns + 'static) -> Self {
        Self { service, turns: Box::new(turns) }
    }
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
