//! Folding of the turns that do not fit into the window into a summary.

use super::call::ServiceCall;
use super::memory_session::MemorySession;
use crate::event::Event;
use crate::memory::{Snapshot, Summarizer};
use crate::message::ChatMessage;
use crate::model::{ChatRequest, UsageMeter};
use crate::{Error, ErrorKind, Result};
use ai_services_core::trace::{self, StepSpan};
use std::time::Instant;
use tracing::field;

/// The outcome of the last summary of this call. An attempt that replays the turn uses it again.
pub(super) enum SummaryOutcome {
    Folded {
        /// The earlier summary, which the new one includes.
        earlier: Option<Box<str>>,
        messages: Vec<ChatMessage>,
        summary: Box<str>,
    },
    Failed,
}

/// Folds the history into a summary, if it does not fit into the window beside the first request of the turn.
pub(super) async fn fold_overflow(
    call: &ServiceCall,
    session: &MemorySession,
    snapshot: &mut Snapshot,
    request: &mut ChatRequest,
    outcome: &mut Option<SummaryOutcome>,
) {
    let Some(summarizer) = session.overflow(snapshot, request) else { return };
    let fold = HistoryFold { call, session, summarizer, request };
    *snapshot = Box::pin(fold.run(std::mem::take(snapshot), outcome)).await;
    request.history = snapshot.messages().clone();
}

/// The surroundings of one fold.
struct HistoryFold<'a> {
    call: &'a ServiceCall,
    session: &'a MemorySession,
    summarizer: &'a Summarizer,
    /// The first request of the turn.
    request: &'a ChatRequest,
}

impl HistoryFold<'_> {
    /// Folds the oldest turns of the snapshot into a summary. If the summary fails, evicts the messages that do
    /// not fit.
    ///
    /// Nothing is written: the commit of the turn stores the summary. The usage of the model is added to the
    /// meter of the call.
    async fn run(&self, snapshot: Snapshot, outcome: &mut Option<SummaryOutcome>) -> Snapshot {
        let snapshot = repeat(snapshot, outcome.as_ref());
        let skipped = self.skipped(&snapshot);
        if skipped == 0 {
            return snapshot;
        }
        if !matches!(outcome, Some(SummaryOutcome::Failed)) {
            let count = snapshot.fold_length(skipped);
            if let Some(summary) = self.summarize(&snapshot, count, skipped).await {
                let folded = snapshot.clone().fold(count, Some(&summary));
                let earlier = snapshot.summary().map(Box::from);
                let messages = snapshot.history().take(count).cloned().collect();
                *outcome = Some(SummaryOutcome::Folded { earlier, messages, summary });
                return folded;
            }
            *outcome = Some(SummaryOutcome::Failed);
        }
        let earlier = snapshot.summary().map(Box::<str>::from);
        snapshot.fold(skipped, earlier.as_deref())
    }

    /// Returns a summary of the `count` oldest messages. If it fails, `skipped` messages are evicted.
    async fn summarize(
        &self,
        snapshot: &Snapshot,
        count: usize,
        skipped: usize,
    ) -> Option<Box<str>> {
        let (model, meter) = (self.summarizer.model_name(), UsageMeter::new());
        let span = tracing::info_span!(
            "summarize",
            otel.name = %format_args!("summarize {model}"),
            otel.status_code = field::Empty,
            gen_ai.conversation.id = field::Empty,
            ai_services.summary.model = model,
            ai_services.summary.messages = trace::count(count),
            error.r#type = field::Empty,
        );
        let (mut step, started) = (StepSpan::new(span), Instant::now());
        let summary = self.usable_summary(snapshot, count, &meter);
        let outcome = step.run(summary).await;
        step.end(&outcome);
        let messages = if outcome.is_ok() { count } else { skipped.min(snapshot.history().len()) };
        let (usage, duration) = (meter.total(), started.elapsed());
        for (model, usage) in meter.take() {
            self.call.meter().add(&model, usage);
        }
        if let Err(error) = &outcome {
            let kind = error.kind();
            tracing::warn!(?kind, messages, "the summary failed; the oldest messages are evicted");
        }
        let summary = outcome.as_deref();
        let event = Event::HistorySummarized { model, messages, summary, usage, duration };
        self.call.emit_in(step.span(), &event);
        outcome.ok()
    }

    /// Returns a summary that leaves room for the current turn.
    ///
    /// # Errors
    ///
    /// If the summarizer fails, or if its summary does not fit into the window.
    async fn usable_summary(
        &self,
        snapshot: &Snapshot,
        count: usize,
        meter: &UsageMeter,
    ) -> Result<Box<str>> {
        // A window without room for the shortest summary costs no model call.
        self.check_room(snapshot, count, "")?;
        let messages = snapshot.history().take(count);
        let summary = self.summarizer.summarize(snapshot.summary(), messages, meter).await?;
        self.check_room(snapshot, count, &summary)?;
        Ok(summary)
    }

    /// Fails if the summary would be left out of the request.
    fn check_room(&self, snapshot: &Snapshot, count: usize, summary: &str) -> Result<()> {
        let folded = snapshot.clone().fold(count, Some(summary));
        if self.skipped(&folded) <= folded.history().len() {
            return Ok(());
        }
        let message = "the window has no room for the summary beside the current turn";
        Err(Error::new(ErrorKind::TurnTooLarge, message))
    }

    /// Returns the number of messages that do not fit. A turn that is too large on its own fails later, when
    /// its first request is fitted.
    fn skipped(&self, snapshot: &Snapshot) -> usize {
        let ChatRequest { system, turn, .. } = self.request;
        self.session.skipped(snapshot, system.as_ref(), turn).unwrap_or(0)
    }
}

/// Folds the messages that an earlier attempt at the turn has summarized, if the conversation still starts with
/// them.
fn repeat(snapshot: Snapshot, outcome: Option<&SummaryOutcome>) -> Snapshot {
    let Some(SummaryOutcome::Folded { earlier, messages, summary }) = outcome else {
        return snapshot;
    };
    let is_unchanged = snapshot.summary() == earlier.as_deref()
        && snapshot.history().len() >= messages.len()
        && snapshot.history().zip(messages).all(|(loaded, folded)| loaded == folded);
    if is_unchanged { snapshot.fold(messages.len(), Some(summary)) } else { snapshot }
}
