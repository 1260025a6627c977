//! A turn that waits for decisions.

use super::decision::{Decided, Decision};
use super::elicitation::Elicitation;
use super::waiting::{Waiting, WaitingCall, digest, sorted};
use crate::error::{Error, ErrorKind, Result};
use crate::invocation::{MemoryId, TurnId};
use crate::memory::{ChatMemoryStore, JournalPosition, TurnJournal};
use crate::message::ToolCall;
use crate::model::ToolSpecification;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A turn whose tool calls wait, for example for approval: the [detail](Error::detail) of an error of the kind
/// [`ErrorKind::Suspended`].
///
/// Plain data: an application serializes it, sends it to the people who decide, and gets it back. It contains the
/// arguments of the calls, so treat it as confidential as the conversation.
///
/// # Examples
///
/// ```
/// use ai_services::approval::{Decision, PendingTurn};
/// use ai_services::memory::ChatMemoryStore;
///
/// /// Handles the form of a web page that shows `pending`.
/// async fn approve(store: &dyn ChatMemoryStore, form: &str) -> ai_services::Result<()> {
///     let pending: PendingTurn = serde_json::from_str(form)
///         .map_err(|error| ai_services::Error::configuration(error.to_string()))?;
///     let decisions = pending.calls.iter().map(|_| Decision::Approve);
///     pending.decide(store, decisions).await
/// }
/// # let _ = approve;
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PendingTurn {
    /// Id of the conversation.
    pub memory_id: String,
    /// Position of the journal, `turn:length`. A decision is accepted at this position only, and therefore once.
    pub position: String,
    /// The calls that wait, in the order of the model's answer. At least one.
    pub calls: Vec<PendingCall>,
    /// Time after which no decision is accepted, in milliseconds since 1970. When the turn is resumed after it, the
    /// calls count as denied, and the questions as [canceled](super::ElicitationAnswer::Cancel). `u64::MAX` for calls
    /// that need no decision.
    pub expires: u64,
}

/// A tool call that waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PendingCall {
    /// Name of the tool.
    pub tool: String,
    /// Description of the tool.
    pub description: String,
    /// Arguments as the model wrote them. Usually a JSON object.
    pub arguments: String,
    /// Digest of the definition of the tool: its name, description and parameters.
    pub definition: String,
    /// The reason for the wait.
    #[serde(default, skip_serializing_if = "WaitsFor::is_approval")]
    pub waits_for: WaitsFor,
}

/// The reason why a tool call waits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum WaitsFor {
    /// The call needs approval before it runs. Any decision except [`Decision::Respond`].
    #[default]
    Approval,
    /// The tool asks the user, in the middle of the call. The decision is [`Decision::Respond`].
    Answers(Vec<Elicitation>),
    /// The call has started a task of a server, which has not ended. It needs no decision: resume the turn later. If a
    /// call of the same answer needs a decision, the turn shows that call only.
    Task,
}

/// The entries of a journal that decisions depend on.
#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Entry {
    Waiting(Waiting),
    Decided(Decided),
    #[serde(other)]
    Other,
}

impl WaitsFor {
    fn is_approval(&self) -> bool {
        *self == Self::Approval
    }
}

impl PendingCall {
    /// Describes a call of a tool with this specification.
    #[doc(hidden)]
    #[must_use]
    pub fn new(call: &ToolCall, specification: &ToolSpecification) -> Self {
        Self {
            description: specification.description.to_string(),
            definition: definition_digest(specification),
            ..Self::unspecified(call)
        }
    }

    /// Describes a call whose tool is not known.
    #[doc(hidden)]
    #[must_use]
    pub fn unspecified(call: &ToolCall) -> Self {
        Self {
            tool: call.name().to_owned(),
            description: String::new(),
            arguments: call.arguments().to_owned(),
            definition: String::new(),
            waits_for: WaitsFor::Approval,
        }
    }

    /// Describes a call as a journal does.
    #[doc(hidden)]
    #[must_use]
    pub fn of_waiting(call: &ToolCall, waiting: &WaitingCall) -> Self {
        Self {
            description: waiting.description.clone(),
            definition: waiting.definition.clone(),
            ..Self::unspecified(call)
        }
    }

    /// Sets the reason for the wait.
    #[doc(hidden)]
    #[must_use]
    pub fn waiting_for(mut self, waits_for: WaitsFor) -> Self {
        self.waits_for = waits_for;
        self
    }

    /// Returns the digest of the call. It binds a decision to the turn, the tool, its arguments, its definition and its
    /// questions.
    #[doc(hidden)]
    #[must_use]
    pub fn digest(&self, turn: TurnId) -> String {
        let turn = turn.to_string();
        let call = [turn.as_str(), &self.tool, &self.arguments, &self.definition];
        match &self.waits_for {
            WaitsFor::Answers(questions) => {
                let questions = serde_json::to_value(questions).unwrap_or_default();
                digest(&[&call[..], &[&sorted(&questions).to_string()]].concat())
            }
            WaitsFor::Approval | WaitsFor::Task => digest(&call),
        }
    }

    /// Checks a decision about this call.
    fn check(&self, decision: &Decision) -> Result<()> {
        let tool = &self.tool;
        let refused = |reason: &str| {
            let message = format!("the decision about `{tool}` was not accepted: {reason}");
            Err(Error::configuration(message))
        };
        match (&self.waits_for, decision) {
            (WaitsFor::Answers(questions), Decision::Respond(answers)) => {
                if questions.len() != answers.len() {
                    let (given, expected) = (answers.len(), questions.len());
                    return refused(&format!("{given} answers were given to {expected} questions"));
                }
                let mut pairs = questions.iter().zip(answers);
                match pairs.find_map(|(question, answer)| question.check(answer).err()) {
                    Some(reason) => refused(&reason),
                    None => Ok(()),
                }
            }
            (WaitsFor::Answers(_), _) => {
                refused("the call waits for answers; use `Decision::Respond`")
            }
            (WaitsFor::Task, _) => {
                refused("the call waits for a task, not for a decision; resume the turn later")
            }
            (WaitsFor::Approval, Decision::Respond(_)) => {
                refused("the call waits for approval, and asked no question")
            }
            (WaitsFor::Approval, Decision::Edit(arguments)) if !is_object(arguments) => {
                Err(Error::configuration("edited arguments must be a JSON object"))
            }
            (WaitsFor::Approval, _) => Ok(()),
        }
    }
}

impl PendingTurn {
    /// Describes a turn whose calls wait.
    #[doc(hidden)]
    #[must_use]
    pub fn new(
        id: &MemoryId,
        position: JournalPosition,
        calls: Vec<PendingCall>,
        expires: u64,
    ) -> Self {
        Self { memory_id: id.as_str().to_owned(), position: position.to_string(), calls, expires }
    }

    /// Decides about all calls, in their order. The decisions are one append to the journal in `store`: no model and
    /// no tool is needed, and nothing runs. The turn goes on when it is resumed.
    ///
    /// Of several concurrent decisions, one is accepted.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Conflict`] if the turn no longer waits at this position: it was decided, resumed or
    /// cancelled, it has expired, or its calls are not those of this value. Returns [`ErrorKind::Configuration`] if
    /// the number of decisions is not the number of calls, if edited arguments are not a JSON object, if an answer does
    /// not fit its question, or if the store has no journals. Nothing is written then, and another decision may follow.
    /// Otherwise fails as
    /// [`TurnJournals::append`](crate::memory::TurnJournals::append).
    pub async fn decide(
        &self,
        store: &(impl ChatMemoryStore + ?Sized),
        decisions: impl IntoIterator<Item = Decision, IntoIter: Send> + Send,
    ) -> Result<()> {
        let decisions: Vec<Decision> = decisions.into_iter().collect();
        self.check_decisions(&decisions)?;
        let position: JournalPosition = self.position.parse()?;
        let id = MemoryId::from(self.memory_id.as_str());
        let journals = store.journals().ok_or_else(|| {
            Error::configuration("the store has no journals, so no turn waits for a decision")
        })?;
        let journal = journals.journal(&id).await?;
        let journal = journal.filter(|journal| journal.position() == position);
        let journal = journal.ok_or_else(|| refused("it no longer waits for this decision"))?;
        let at = now();
        self.check(&journal, at)?;
        let entry = Entry::Decided(Decided { decisions, at });
        let record = serde_json::to_string(&entry).map_err(|source| {
            Error::new(ErrorKind::Store, "cannot write a decision").with_source(source)
        })?;
        journals.append(&id, position, &[record], None).await.map(drop)
    }

    fn check_decisions(&self, decisions: &[Decision]) -> Result<()> {
        let (given, expected) = (decisions.len(), self.calls.len());
        if given != expected {
            return Err(Error::configuration(format!(
                "{given} decisions were given for {expected} tool calls; decide about each call, in their order"
            )));
        }
        self.calls.iter().zip(decisions).try_for_each(|(call, decision)| call.check(decision))
    }

    /// Checks that the journal waits for a decision about exactly these calls.
    fn check(&self, journal: &TurnJournal, now: u64) -> Result<()> {
        let last = journal.records.last().and_then(|record| serde_json::from_str(record).ok());
        let Some(Entry::Waiting(waiting)) = last else {
            return Err(refused("it no longer waits for a decision"));
        };
        if waiting.expires <= now {
            return Err(refused("the time for a decision is over"));
        }
        let digest = |call: &PendingCall| call.digest(journal.turn);
        let expected = waiting.calls.iter().map(|call| call.digest.as_str());
        if self.calls.iter().map(digest).eq(expected) {
            return Ok(());
        }
        Err(refused("the calls of the turn are not those of the decision"))
    }

    /// Returns the time after which no decision is accepted.
    #[must_use]
    pub fn expires_at(&self) -> SystemTime {
        UNIX_EPOCH.checked_add(Duration::from_millis(self.expires)).unwrap_or(UNIX_EPOCH)
    }
}

impl fmt::Display for PendingTurn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.calls.first().map(|call| &call.waits_for) {
            Some(WaitsFor::Answers(_)) => "the turn waits for answers to questions of",
            Some(WaitsFor::Task) => "the turn waits for the task of",
            Some(WaitsFor::Approval) | None => "the turn waits for the approval of",
        })?;
        for (number, call) in self.calls.iter().enumerate() {
            let separator = if number == 0 { "" } else { "," };
            write!(f, "{separator} `{}`", call.tool)?;
        }
        Ok(())
    }
}

impl std::error::Error for PendingTurn {}

impl From<PendingTurn> for Error {
    fn from(pending: PendingTurn) -> Self {
        let id = &pending.memory_id;
        let is_task = pending.calls.iter().any(|call| call.waits_for == WaitsFor::Task);
        let message = match is_task {
            true => format!("{pending}; resume the turn of the conversation `{id}` later"),
            false => format!(
                "{pending}; decide with `PendingTurn::decide`, then resume the turn of the conversation `{id}`"
            ),
        };
        Self::new(ErrorKind::Suspended, message).with_source(pending)
    }
}

/// Returns the digest of the definition of a tool.
#[doc(hidden)]
#[must_use]
pub fn definition_digest(specification: &ToolSpecification) -> String {
    let ToolSpecification { name, description, parameters, .. } = specification;
    let parameters = parameters.as_ref().map(|schema| schema.as_value().to_string());
    digest(&[name, description, parameters.as_deref().unwrap_or_default()])
}

/// Returns the time in milliseconds since 1970.
#[doc(hidden)]
#[must_use]
pub fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

fn refused(reason: &str) -> Error {
    Error::new(
        ErrorKind::Conflict,
        format!("the decision about the turn was not accepted: {reason}"),
    )
    .with_retryable(false)
}

fn is_object(text: &str) -> bool {
    serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(text).is_ok()
}
