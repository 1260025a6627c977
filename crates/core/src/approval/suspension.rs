//! The reasons of suspended tool calls.

use super::{Elicitation, ElicitationAnswer, PendingTurn};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;

/// The reason why a tool call is suspended. Kept in the journal of its turn.
#[doc(hidden)]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Suspension {
    /// The call waits for decisions about a turn of another conversation. The next attempt starts from the beginning.
    Pending(PendingTurn),
    /// The call waits for the user, or for work elsewhere. The next attempt goes on from its state.
    Awaits(Awaited),
}

/// The data of a call that waits for the user, or for work elsewhere.
#[doc(hidden)]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Awaited {
    /// The questions to the user. Without questions, the call waits for work elsewhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub elicitations: Vec<Elicitation>,
    /// The data of the tool for its next attempt.
    pub state: Value,
    /// The effect of the next attempt.
    pub next: NextAttempt,
    /// The time before which another attempt is of no use, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub not_before: u64,
}

/// The effect of the next attempt at a suspended call.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NextAttempt {
    /// The next attempt may take effect. If its result is lost, the effect class of the tool decides.
    Acts,
    /// The effect has begun elsewhere, and the next attempt observes it. It may be repeated at any time.
    Observes,
}

/// The data with which an attempt goes on from a suspended one.
#[doc(hidden)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Continuation {
    /// The data of the tool.
    pub state: Value,
    /// The answers to the questions, in their order.
    pub answers: Vec<ElicitationAnswer>,
    /// The effect of the attempt.
    pub attempt: NextAttempt,
}

impl Awaited {
    /// Returns the data of the next attempt, with the answers to the questions.
    #[must_use]
    pub fn continued(&self, answers: Vec<ElicitationAnswer>) -> Continuation {
        Continuation { state: self.state.clone(), answers, attempt: self.next }
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
fn is_zero(time: &u64) -> bool {
    *time == 0
}

impl fmt::Display for Suspension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pending(pending) => {
                write!(f, "{pending}; decide with `PendingTurn::decide`, then resume this turn")
            }
            Self::Awaits(awaited) if awaited.elicitations.is_empty() => {
                f.write_str("the call waits for the end of a task; resume the turn later")
            }
            Self::Awaits(_) => f.write_str(
                "the call waits for answers of the user; answer with `PendingTurn::decide`, then resume the turn",
            ),
        }
    }
}

impl std::error::Error for Suspension {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Pending(pending) => Some(pending),
            Self::Awaits(_) => None,
        }
    }
}
