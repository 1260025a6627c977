//! The tools of one call, which providers may change before each request.

use super::call::ServiceCall;
use crate::Result;
use crate::memory::{Snapshot, found_tools};
use crate::message::{ChatMessage, UserMessage};
use crate::model::ChatRequest;
use crate::tool::{Tool, ToolRequest, Toolbox};
use std::sync::{Arc, Mutex, PoisonError};

/// The tools of one call.
pub(super) struct OfferedTools {
    first: Arc<Toolbox>,
    /// The tools of each provider.
    provided: Vec<Vec<Tool>>,
    /// The names of the tools that were found in earlier turns. The history may be folded later.
    found_before: Option<Box<str>>,
    /// The tools of the last request, if they are not the first ones.
    newest: Mutex<Option<Arc<Toolbox>>>,
}

impl OfferedTools {
    /// Returns the method's tools with those of the tool providers.
    ///
    /// # Errors
    ///
    /// If a provider fails, or if the name of one of its tools is invalid or not unique.
    pub(super) async fn new(
        call: &ServiceCall,
        snapshot: &Snapshot,
        user: &UserMessage,
    ) -> Result<Self> {
        let tools = &call.plan.tools;
        if !tools.have_providers() {
            return Ok(Self::of(Arc::clone(tools.own()), Vec::new(), None));
        }
        Box::pin(async {
            let found = found_tools(snapshot.found_tools(), &[]);
            let provided =
                tools.provided(&request(call, user).with_turn(&[], &found), None).await?;
            let toolbox = tools.with_provided(&provided)?;
            call.plan.output.check(&toolbox)?;
            Ok(Self::of(Arc::new(toolbox), provided, snapshot.found_tools()))
        })
        .await
    }

    fn of(first: Arc<Toolbox>, provided: Vec<Vec<Tool>>, found_before: Option<&str>) -> Self {
        let found_before = found_before.map(Box::from);
        Self { first, provided, found_before, newest: Mutex::new(None) }
    }

    /// Returns the tools of the first request.
    pub(super) fn first(&self) -> &Toolbox {
        &self.first
    }

    /// Returns the tools of the last request, if they are not the first ones.
    pub(super) fn newest(&self) -> Option<Arc<Toolbox>> {
        self.newest.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Calls the providers that are called before each request, and changes the tools of the request.
    ///
    /// # Errors
    ///
    /// Same as [`new`](Self::new).
    pub(super) async fn refresh(
        &self,
        call: &ServiceCall,
        user: &UserMessage,
        next: &mut ChatRequest,
    ) -> Result<()> {
        // The providers were called for the first request.
        let Some(turn) = next.turn.get(1..).filter(|turn| !turn.is_empty()) else { return Ok(()) };
        let tools = &call.plan.tools;
        let found = found_tools(self.found_before.as_deref(), turn);
        let request = request(call, user).with_turn(turn, &found);
        let toolbox =
            tools.with_provided(&tools.provided(&request, Some(&self.provided)).await?)?;
        let last = self.newest();
        let last = last.as_deref().unwrap_or(&self.first);
        // An equal list keeps its encoded form.
        if toolbox.specifications().as_slice() != last.specifications().as_slice() {
            call.plan.output.check(&toolbox)?;
            next.tools = call.plan.output.specifications(&toolbox);
        }
        *self.newest.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(toolbox));
        Ok(())
    }

    /// Adds the tool for the final answer, if the first request of the turn left it out.
    pub(super) fn add_answer_tool(&self, call: &ServiceCall, next: &mut ChatRequest) {
        if next.turn.len() > 1 && call.plan.output.lacks_answer_tool(&next.tools) {
            let newest = self.newest();
            let toolbox = newest.as_deref().unwrap_or(&self.first);
            next.tools = call.plan.output.specifications(toolbox);
        }
    }

    /// Returns the names of the tools that were found up to the end of a turn, if there are any.
    pub(super) fn found(&self, turn: &[ChatMessage]) -> Option<String> {
        // Only providers search.
        if self.provided.is_empty() {
            return None;
        }
        let names = found_tools(self.found_before.as_deref(), turn);
        (!names.is_empty()).then(|| names.join(" "))
    }
}

fn request<'a>(call: &'a ServiceCall, user: &'a UserMessage) -> ToolRequest<'a> {
    ToolRequest::new(user, call.memory_id(), &call.context.invocation)
}
