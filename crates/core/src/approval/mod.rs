//! Approval of tool calls by a person or by the application, and answers to questions of tools.
//!
//! A tool that [requires approval](crate::Tool::requiring_approval) does not run before its call was approved. A
//! service with an [`ApprovalHandler`] asks the handler within the call. Otherwise the turn is suspended: its
//! journal waits in the store, for as long as it takes, and over restarts. The caller gets a [`PendingTurn`], which is
//! plain data. Whoever holds it [decides](PendingTurn::decide) with nothing but the store, in any process. The
//! next call on the conversation, `AiService::resume` or `AiService::recover` then goes on with the turn.
//!
//! A tool that asks the user, such as a tool of an MCP server, suspends its turn in the same way. The [`PendingCall`]
//! then has [questions](WaitsFor::Answers), and the decision is [`Decision::Respond`].

mod decision;
mod elicitation;
mod form;
mod handler;
mod pending;
mod suspension;
mod waiting;

pub use decision::Decision;
pub use elicitation::{Elicitation, ElicitationAnswer, ElicitationKind};
pub use handler::{Approval, ApprovalHandler};
pub use pending::{PendingCall, PendingTurn, WaitsFor};

#[doc(hidden)]
pub use decision::Decided;
#[doc(hidden)]
pub use pending::{definition_digest, now};
#[doc(hidden)]
pub use suspension::{Awaited, Continuation, NextAttempt, Suspension};
#[doc(hidden)]
pub use waiting::{Waiting, WaitingCall, digest};
