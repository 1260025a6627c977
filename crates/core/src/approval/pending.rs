//! A turn that waits for decisions.

use super::decision::{Decided, Decision};
use crate::error::{Error, ErrorKind, Result};
use crate::invocation::{MemoryId, TurnId};
use crate::memory::{ChatMemoryStore, JournalPosition, TurnJournal};
use crate::message::ToolCall;
use crate::model::ToolSpecification;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A turn that waits for decisions about tool calls: the [detail](Error::detail) of an error of the kind
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
    /// calls count as denied.
    pub expires: u64,
}

/// A tool call that waits for a decision.
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
}

/// The entry of a journal that waits for decisions.
#[doc(hidden)]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    /// The number of the round, from 1.
    pub round: u32,
    /// The calls that wait.
    pub calls: Vec<WaitingCall>,
    /// The time after which no decision is accepted, in milliseconds since 1970.
    pub expires: u64,
}

/// A call of a [`Waiting`] entry.
#[doc(hidden)]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitingCall {
    /// The index of the call in the answer of the model.
    pub index: usize,
    /// The description of the tool.
    pub description: String,
    /// The digest of the definition of the tool.
    pub definition: String,
    /// The digest of the call: turn, tool, arguments and definition.
    pub digest: String,
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

impl PendingCall {
    /// Describes a call of a tool with this specification.
    #[doc(hidden)]
    #[must_use]
    pub fn new(call: &ToolCall, specification: &ToolSpecification) -> Self {
        Self {
            tool: call.name().to_owned(),
            description: specification.description.to_string(),
            arguments: call.arguments().to_owned(),
            definition: definition_digest(specification),
        }
    }
}

impl PendingTurn {
    /// Describes the calls of an answer that wait.
    #[doc(hidden)]
    #[must_use]
    pub fn new(
        id: &MemoryId,
        position: JournalPosition,
        waiting: &Waiting,
        calls: &[ToolCall],
    ) -> Self {
        let pending = |waiting: &WaitingCall| {
            let call = calls.get(waiting.index)?;
            Some(PendingCall {
                tool: call.name().to_owned(),
                description: waiting.description.clone(),
                arguments: call.arguments().to_owned(),
                definition: waiting.definition.clone(),
            })
        };
        Self {
            memory_id: id.as_str().to_owned(),
            position: position.to_string(),
            calls: waiting.calls.iter().filter_map(pending).collect(),
            expires: waiting.expires,
        }
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
    /// the number of decisions is not the number of calls, if edited arguments are not a JSON object, or if the
    /// store has no journals. Otherwise fails as
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
        let is_object = |text: &str| {
            serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(text).is_ok()
        };
        for decision in decisions {
            if let Decision::Edit(arguments) = decision
                && !is_object(arguments)
            {
                return Err(Error::configuration("edited arguments must be a JSON object"));
            }
        }
        Ok(())
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
        let digest = |call: &PendingCall| {
            call_digest(journal.turn, &call.tool, &call.arguments, &call.definition)
        };
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
        f.write_str("the turn waits for the approval of")?;
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
        let message = format!(
            "{pending}; decide with `PendingTurn::decide`, then resume the turn of the conversation `{}`",
            pending.memory_id
        );
        Self::new(ErrorKind::Suspended, message).with_source(pending)
    }
}

/// Returns the digest of a call. It binds a decision to the turn, the tool, its arguments and its definition.
#[doc(hidden)]
#[must_use]
pub fn call_digest(turn: TurnId, tool: &str, arguments: &str, definition: &str) -> String {
    digest([turn.to_string().as_str(), tool, arguments, definition])
}

/// Returns the digest of the definition of a tool.
#[doc(hidden)]
#[must_use]
pub fn definition_digest(specification: &ToolSpecification) -> String {
    let ToolSpecification { name, description, parameters, .. } = specification;
    let parameters = parameters.as_ref().map(|schema| schema.as_value().to_string());
    digest([name, description, parameters.as_deref().unwrap_or_default()])
}

/// Returns 32 hexadecimal digits of SHA-256 over the parts with their lengths.
fn digest<const N: usize>(parts: [&str; N]) -> String {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update((part.len() as u64).to_le_bytes());
        digest.update(part);
    }
    digest.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
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
