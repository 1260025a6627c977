//! The tools of one call, which providers may change before each request.

use super::call::ServiceCall;
use crate::Result;
use crate::memory::{Snapshot, found_tools, found_tools_of};
use crate::message::{ChatMessage, UserMessage};
use crate::model::{Capability, ChatRequest};
use crate::tool::{Tool, ToolRequest, Toolbox};
use std::sync::{Arc, Mutex, PoisonError};

/// The tools of one call.
pub(super) struct OfferedTools {
    first: Arc<Toolbox>,
    /// The tools of each provider.
    provided: Vec<Vec<Tool>>,
    before: FoundBefore,
    /// The tools of the last request, if they are not the first ones.
    newest: Mutex<Option<Arc<Toolbox>>>,
}

/// The names of tools that were found in earlier turns, separated by spaces. The history may be folded later.
#[derive(Default)]
struct FoundBefore {
    all: Option<Box<str>>,
    /// Those whose search results are in the history. `None` if the model cannot load tools from them.
    loaded: Option<Box<str>>,
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
            return Ok(Self::of(Arc::clone(tools.own()), Vec::new(), FoundBefore::default()));
        }
        Box::pin(async {
            let before = FoundBefore::new(call, snapshot);
            let provided = before.provided(call, (user, &[]), None).await?;
            let toolbox = tools.with_provided(&provided)?;
            call.plan.output.check(&toolbox)?;
            Ok(Self::of(Arc::new(toolbox), provided, before))
        })
        .await
    }

    fn of(first: Arc<Toolbox>, provided: Vec<Vec<Tool>>, before: FoundBefore) -> Self {
        Self { first, provided, before, newest: Mutex::new(None) }
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
        let provided = self.before.provided(call, (user, turn), Some(&self.provided)).await?;
        let toolbox = call.plan.tools.with_provided(&provided)?;
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
        let names = found_tools(self.before.all.as_deref(), turn);
        (!names.is_empty()).then(|| names.join(" "))
    }
}

impl FoundBefore {
    fn new(call: &ServiceCall, snapshot: &Snapshot) -> Self {
        let all = snapshot.found_tools().map(Box::from);
        let capabilities = call.components.model.capabilities();
        let loaded = capabilities.contains(Capability::DeferredTools).then(|| {
            // Without found tools, the history is not read.
            let history = all.as_ref().map(|_| snapshot.history());
            let names = history.into_iter().flatten().flat_map(found_tools_of);
            names.collect::<Vec<_>>().join(" ").into()
        });
        Self { all, loaded }
    }

    /// Returns the tools of each provider, which sees the messages of the turn.
    async fn provided(
        &self,
        call: &ServiceCall,
        (user, turn): (&UserMessage, &[ChatMessage]),
        known: Option<&[Vec<Tool>]>,
    ) -> Result<Vec<Vec<Tool>>> {
        let found = found_tools(self.all.as_deref(), turn);
        let loaded = self.loaded.as_deref().map(|before| found_tools(Some(before), turn));
        let request = ToolRequest::new(user, call.memory_id(), &call.context.invocation);
        let mut request = request.with_turn(turn, &found);
        if let Some(loaded) = &loaded {
            request = request.with_loaded_tools(loaded);
        }
        call.plan.tools.provided(&request, known).await
    }
}
