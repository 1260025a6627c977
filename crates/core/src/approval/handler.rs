//! Approval within a call.

use super::{Decision, PendingCall};
use crate::error::Result;
use crate::forward::forward_through_arc;
use crate::invocation::InvocationContext;
use async_trait::async_trait;

/// Decides about tool calls while the service call waits, for example by a question on the terminal.
///
/// The turn is not suspended: if the process ends meanwhile, the handler is asked again when the turn is resumed.
///
/// Implementations carry `#[ai_services::async_trait]`. Without it, the compiler reports that "lifetime
/// parameters or bounds on method … do not match the trait declaration".
#[async_trait]
pub trait ApprovalHandler: Send + Sync {
    /// Decides about one call.
    ///
    /// # Errors
    ///
    /// Return an error if there is no decision. No tool of the answer runs then, and the service call fails.
    async fn decide(&self, call: &PendingCall, context: &InvocationContext) -> Result<Decision>;
}

forward_through_arc! {
    ApprovalHandler {
        async fn decide<'a, 'b, 'c>(
            &'a self,
            call: &'b PendingCall,
            context: &'c InvocationContext,
        ) -> Result<Decision>;
    }
}

/// The verdict of an approval policy about one tool call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Approval {
    /// The tool decides: see [`Tool::requiring_approval`](crate::Tool::requiring_approval).
    #[default]
    AsDeclared,
    /// The call needs approval.
    Required,
    /// The call runs without approval.
    NotRequired,
}
