//! A record whose call still runs.

use super::step::{RecordedError, RecordedRequest, RecordedViolation, StepKind, TurnStep};
use super::turn_record::{TurnOutcome, TurnRecord};
use crate::event::{Call, Event};
use crate::guardrail::GuardrailStage;
use crate::invocation::RequestId;
use crate::message::ChatMessage;
use crate::model::{
    ChatRequest, ChatResponse, IncurredCost, Moderation, TokenUsage, ToolSpecifications,
};
use crate::rag::RetrievedContent;
use std::time::{Duration, Instant, SystemTime};

/// Most steps of a record.
const MAX_STEPS: usize = 1_000;

/// A record whose call still runs.
pub(super) struct Draft {
    record: TurnRecord,
    started: Instant,
    /// The tools of the last request.
    tools: Option<ToolSpecifications>,
}

impl Draft {
    pub(super) fn new(call: &Call<'_>) -> Self {
        let mut record = TurnRecord::new(call.id, call.service, call.method);
        record.outer = call.outer;
        record.memory_id = call.memory_id.map(|id| id.as_str().into());
        record.request_id = call.context.get::<RequestId>().map(|id| id.as_str().into());
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        record.started_ms = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
        record.steps = Vec::with_capacity(8);
        Self { record, started: Instant::now(), tools: None }
    }

    /// Adds an event.
    pub(super) fn add(&mut self, event: &Event<'_>) {
        if let Event::PromptsRendered { system, user } = event {
            self.record.system_message = system.cloned();
            self.record.user_message = Some(ChatMessage::User((*user).clone()));
        } else if self.record.steps.len() >= MAX_STEPS {
            self.record.omitted_steps = self.record.omitted_steps.saturating_add(1);
        } else if let Some(kind) = self.step(event) {
            self.record.steps.push(TurnStep::new(self.elapsed(), kind));
        }
    }

    /// Returns the record of a call that ended with this event.
    pub(super) fn finish(mut self, event: &Event<'_>) -> TurnRecord {
        self.record.duration = self.elapsed();
        self.record.outcome = match event {
            Event::Completed { usage, cost } => {
                (self.record.usage, self.record.cost) = (**usage, cost.copied());
                TurnOutcome::Completed
            }
            Event::Suspended { pending } => TurnOutcome::Suspended(Box::new((*pending).clone())),
            Event::Failed { error } => {
                self.record.usage = error.usage().copied().unwrap_or_default();
                self.record.cost = error.detail::<IncurredCost>().map(|incurred| incurred.cost);
                TurnOutcome::Failed(Box::new((*error).into()))
            }
            _ => TurnOutcome::Cancelled,
        };
        if self.record.usage.is_empty() {
            self.record.usage = self.response_usage();
        }
        self.record
    }

    /// Returns the usage of the responses, for calls whose end does not report it.
    fn response_usage(&self) -> TokenUsage {
        let usages = self.record.steps.iter().filter_map(|step| match &step.kind {
            StepKind::ResponseReceived(response) => Some(response.usage),
            _ => None,
        });
        usages.fold(TokenUsage::default(), |sum, usage| sum + usage)
    }

    fn elapsed(&self) -> Duration {
        let micros = self.started.elapsed().as_micros();
        Duration::from_micros(u64::try_from(micros).unwrap_or(u64::MAX))
    }

    /// Returns the step of an event. `None` for events that are not steps.
    fn step(&mut self, event: &Event<'_>) -> Option<StepKind> {
        match *event {
            Event::RequestIssued { request } => Some(self.request(request)),
            _ => memory_step(event).or_else(|| check_step(event)).or_else(|| model_step(event)),
        }
    }

    fn request(&mut self, request: &ChatRequest) -> StepKind {
        let sent = self.record.last_messages();
        let pairs = sent.into_iter().zip(request.messages());
        let shared = pairs.take_while(|(sent, message)| sent == message).count();
        let is_same = self.tools.as_ref().is_some_and(|tools| tools.is_same(&request.tools));
        if !is_same {
            self.tools = Some(request.tools.clone());
        }
        StepKind::RequestIssued(Box::new(RecordedRequest {
            shared,
            messages: request.messages().skip(shared).cloned().collect(),
            tools: self.tools.clone().filter(|_| !is_same),
            parameters: request.parameters.clone(),
        }))
    }
}

/// Returns the step of an event about the conversation.
fn memory_step(event: &Event<'_>) -> Option<StepKind> {
    Some(match *event {
        Event::MemoryLoaded { version, messages } => StepKind::MemoryLoaded { version, messages },
        Event::HistoryRepaired { dropped, added, is_reordered } => {
            StepKind::HistoryRepaired { dropped, added, is_reordered }
        }
        Event::TurnResumed { turn } => StepKind::TurnResumed { turn: turn.to_string().into() },
        Event::HistorySummarized { model, messages, summary, usage, duration } => {
            StepKind::HistorySummarized {
                model: model.into(),
                messages,
                summary: summary.map(Into::into).map_err(RecordedError::from),
                usage,
                duration: whole_microseconds(duration),
            }
        }
        Event::TurnReplayed { error } => StepKind::TurnReplayed(Box::new(error.into())),
        Event::TurnStored { based_on, messages } => StepKind::TurnStored { based_on, messages },
        _ => return None,
    })
}

/// Returns the step of an event about retrieval, guardrails or moderation.
fn check_step(event: &Event<'_>) -> Option<StepKind> {
    Some(match *event {
        Event::Retrieved { contents, skipped } => StepKind::Retrieved {
            contents: contents.iter().cloned().map(readable).collect(),
            skipped: skipped.iter().map(Into::into).collect(),
        },
        Event::InputChecked { guardrail, verdict } => {
            StepKind::InputChecked { guardrail: guardrail.into(), verdict: verdict.into() }
        }
        Event::OutputChecked { guardrail, verdict } => {
            StepKind::OutputChecked { guardrail: guardrail.into(), verdict: verdict.into() }
        }
        Event::Moderated { model, stage, verdict, duration } => {
            moderated(model, stage, verdict, duration)
        }
        _ => return None,
    })
}

/// Returns the step of an event about answers or tools.
fn model_step(event: &Event<'_>) -> Option<StepKind> {
    Some(match *event {
        Event::RequestFailed { error } => StepKind::RequestFailed(Box::new(error.into())),
        Event::ResponseReceived { response } => {
            let response = ChatResponse { cached_copy: None, ..response.clone() };
            StepKind::ResponseReceived(Box::new(response))
        }
        Event::ToolStarted { call } => StepKind::ToolStarted {
            id: call.id().into(),
            name: call.name().into(),
            arguments: call.arguments().into(),
        },
        Event::ToolFinished { execution } => StepKind::ToolFinished {
            id: execution.call().id().into(),
            result: execution.result().clone().into(),
            duration: whole_microseconds(execution.duration()),
            has_unknown_outcome: execution.has_unknown_outcome(),
        },
        Event::AnswerUnreadable { error } => StepKind::AnswerUnreadable(Box::new(error.into())),
        _ => return None,
    })
}

/// Returns a source without a score that JSON does not have.
fn readable(mut content: RetrievedContent) -> RetrievedContent {
    content.score = content.score.filter(|score| score.is_finite());
    content
}

fn moderated(
    model: &str,
    stage: GuardrailStage,
    verdict: &Moderation,
    duration: Duration,
) -> StepKind {
    let violations = verdict.violations.iter();
    let violation =
        |(category, score): &(Box<str>, f64)| RecordedViolation::new(category.clone(), *score);
    StepKind::Moderated {
        model: model.into(),
        stage: match stage {
            GuardrailStage::Input => "input".into(),
            GuardrailStage::Output => "output".into(),
        },
        violations: violations.map(violation).collect(),
        duration: whole_microseconds(duration),
    }
}

fn whole_microseconds(duration: Duration) -> Duration {
    Duration::from_micros(u64::try_from(duration.as_micros()).unwrap_or(u64::MAX))
}
