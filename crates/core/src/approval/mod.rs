//! Approval of tool calls by a person or by the application.
//!
//! A tool that [requires approval](crate::Tool::requiring_approval) does not run before its call was approved. A
//! service with an [`ApprovalHandler`] asks the handler within the call. Otherwise the turn is suspended: its
//! journal waits in the store, for as long as it takes, and over restarts. The caller gets a [`PendingTurn`], which is
//! plain data. Whoever holds it [decides](PendingTurn::decide) with nothing but the store, in any process. The
//! next call on the conversation, `AiService::resume` or `AiService::recover` then goes on with the turn.

mod decision;
mod handler;
mod pending;

pub use decision::Decision;
pub use handler::{Approval, ApprovalHandler};
pub use pending::{PendingCall, PendingTurn};

#[doc(hidden)]
pub use decision::Decided;
#[doc(hidden)]
pub use pending::{Waiting, WaitingCall, call_digest, definition_digest, now};
