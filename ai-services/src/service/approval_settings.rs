//! The settings for the approval of tool calls.

use crate::approval::{Approval, ApprovalHandler};
use crate::message::ToolCall;
use crate::tool::{Tool, Toolbox};
use crate::{Error, InvocationContext, Result};
use std::sync::Arc;

type Policy = dyn Fn(&ToolCall, &InvocationContext) -> Approval + Send + Sync;

/// The settings for the approval of tool calls.
#[derive(Default)]
pub(super) struct ApprovalSettings {
    pub(super) policy: Option<Box<Policy>>,
    pub(super) handler: Option<Arc<dyn ApprovalHandler>>,
}

impl ApprovalSettings {
    /// Returns `true` if the call needs approval.
    pub(super) fn is_required(
        &self,
        tool: &Tool,
        call: &ToolCall,
        context: &InvocationContext,
    ) -> bool {
        let verdict = self.policy.as_ref().map(|policy| policy(call, context));
        match verdict.unwrap_or_default() {
            Approval::AsDeclared => tool.requires_approval(),
            Approval::Required => true,
            Approval::NotRequired => false,
        }
    }

    /// Fails if a tool needs approval, and neither a handler nor a journal can give it.
    pub(super) fn check(&self, toolbox: &Toolbox, is_durable: bool) -> Result<()> {
        if self.handler.is_some() || is_durable {
            return Ok(());
        }
        match toolbox.requiring_approval().next() {
            Some(tool) => Err(no_approver(tool)),
            None => Ok(()),
        }
    }
}

/// The error of a call that needs approval in a service that has no way to get it.
pub(super) fn no_approver(tool: &str) -> Error {
    Error::configuration(format!(
        "the tool `{tool}` requires approval; call `.approval_handler(...)`, which decides within the call, or \
         `.durable_turns(...)`, which suspends the turn until it is decided, before `.build()`"
    ))
}
