//! The input of tool calls.

use super::arguments::ToolArguments;
use super::checkpoint::Checkpoints;
use super::error::ToolError;
use super::key::{CallPlace, KeyTemplate};
use super::progress::ToolProgress;
use super::signals::{CancellationToken, Signals};
use crate::approval::{Awaited, Continuation};
use crate::invocation::{CallId, InvocationContext, MemoryId};
use crate::message::ToolCall;
use crate::model::UsageMeter;
use std::sync::Arc;
use tokio::time::Instant;

/// The input of one tool call: the call of the model, and data of the application.
#[derive(Clone, Debug)]
pub struct ToolInput {
    call: ToolCall,
    context: ToolContext,
    place: CallPlace,
    attempt: u32,
    key: Option<Arc<KeyTemplate>>,
    signals: Signals,
    continuation: Option<Arc<Continuation>>,
    checkpoints: Option<Checkpoints>,
}

/// The context that all tool calls of one service call share.
///
/// Cloning is cheap: it copies three pointers.
#[doc(hidden)]
#[derive(Clone, Debug, Default)]
pub struct ToolContext {
    /// The memory id, if the service method has a `#[memory_id]` parameter.
    pub memory_id: Option<MemoryId>,
    /// The application's data for this call.
    pub invocation: InvocationContext,
    /// The meter that counts the usage of models that tools call.
    pub meter: UsageMeter,
    /// The id of the service call. `None` if the service has no listener.
    pub call: Option<CallId>,
}

impl ToolInput {
    pub(crate) fn new(
        call: &ToolCall,
        context: &ToolContext,
        place: CallPlace,
        attempt: u32,
    ) -> Self {
        let (call, context, signals) = (call.clone(), context.clone(), Signals::default());
        let (key, continuation, checkpoints) = (None, None, None);
        Self { call, context, place, attempt, key, signals, continuation, checkpoints }
    }

    /// Sets the state from which a suspended call goes on.
    pub(super) fn with_continuation(mut self, continuation: Option<&Arc<Continuation>>) -> Self {
        self.continuation = continuation.cloned();
        self
    }

    /// Sets the receiver of states that outlive the process.
    pub(super) fn with_checkpoints(mut self, checkpoints: Option<&Checkpoints>) -> Self {
        self.checkpoints = checkpoints.cloned();
        self
    }

    /// Sets the template of the key, if the tool has one.
    pub(super) fn with_key(mut self, key: Option<&Arc<KeyTemplate>>) -> Self {
        self.key = key.cloned();
        self
    }

    /// Returns the call as the model wrote it.
    #[must_use]
    pub fn call(&self) -> &ToolCall {
        &self.call
    }

    /// Returns the id of the service call that runs the tool. `None` if the service has no listener.
    #[doc(hidden)]
    #[must_use]
    pub fn service_call(&self) -> Option<CallId> {
        self.context.call
    }

    /// Returns the memory id. `None` if the service method has no `#[memory_id]` parameter.
    #[must_use]
    pub fn memory_id(&self) -> Option<&MemoryId> {
        self.context.memory_id.as_ref()
    }

    /// Returns the application's data for this call.
    #[must_use]
    pub fn context(&self) -> &InvocationContext {
        &self.context.invocation
    }

    /// Returns the meter for the usage of models that the tool calls.
    #[must_use]
    pub fn meter(&self) -> &UsageMeter {
        &self.context.meter
    }

    /// Returns the idempotency key of the call: a name of its effect, for a receiver that removes duplicates.
    ///
    /// All attempts at a call have the same key, also after a restart of the process. Each other call has
    /// another key, even with the same arguments. The key has 32 hexadecimal digits, and does not depend on
    /// the ids that the provider gives to calls.
    ///
    /// A tool with a key template, `#[tool(key = "{{order}}")]` or [`Tool::with_key`](super::Tool::with_key),
    /// gets the rendered text instead, unchanged and of any length: a string as its text, any other value as
    /// compact JSON, a missing argument or `null` as an empty text. If the arguments are malformed or all of those
    /// in the template are empty, the call has a key of its own.
    ///
    /// The key is computed at each call of this method.
    #[must_use]
    pub fn idempotency_key(&self) -> String {
        let rendered = self.key.as_ref().and_then(|key| key.render(self.call.arguments()));
        rendered.unwrap_or_else(|| self.place.key(self.call.name()))
    }

    /// Returns the number of this attempt at the call: 1 for the first run, 2 for the first repetition after a
    /// resume.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// Returns the end of the time limit of this run, as the clock of tokio shows it. `None` for a function with
    /// `#[tool]` that is not `async`: it has no time limit.
    ///
    /// # Examples
    ///
    /// ```
    /// use ai_services::tool;
    /// use ai_services::tool::ToolInput;
    /// use std::time::Duration;
    /// use tokio::time::{Instant, sleep};
    ///
    /// /// Collects data until shortly before the time limit.
    /// #[tool(read_only, timeout = "30s")]
    /// async fn collect(#[context] input: &ToolInput) -> u32 {
    ///     let mut found = 0;
    ///     while input.deadline().is_some_and(|end| end - Instant::now() > Duration::from_secs(1)) {
    ///         sleep(Duration::from_millis(100)).await;
    ///         found += 1;
    ///     }
    ///     found
    /// }
    /// # assert_eq!(collect::tool().name(), "collect");
    /// ```
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        self.signals.deadline()
    }

    /// Returns a signal that the run was stopped, for work that outlives the future of the tool.
    #[must_use]
    pub fn cancellation(&self) -> CancellationToken {
        self.signals.cancellation()
    }

    /// Reports the progress of the tool to listeners, as [`Event::ToolProgressed`](crate::event::Event::ToolProgressed),
    /// and to the stream of the call.
    ///
    /// Never blocks and never fails. May be called from any thread. The call takes the last progress when it is
    /// polled: of several reports in between, only the last one is delivered. Of a tool that is not `async`, only the
    /// last one is delivered, after it has ended. A report after the end of the tool has no effect. Numbers that are not
    /// finite are ignored: a report with such a [`completed`](ToolProgress::completed), or the
    /// [`total`](ToolProgress::total).
    ///
    /// # Examples
    ///
    /// ```
    /// use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
    /// use ai_services::message::ToolCall;
    /// use ai_services::tool::{ToolInput, ToolProgress};
    /// use ai_services::{AnswerStream, StreamEvent, ai_service, tool};
    ///
    /// /// Reads a book.
    /// #[tool(read_only)]
    /// async fn read(pages: u32, #[context] input: &ToolInput) {
    ///     for page in 1..=pages {
    ///         input.report(ToolProgress::new(page.into()).with_total(pages.into()));
    ///         tokio::task::yield_now().await;
    ///     }
    /// }
    ///
    /// #[ai_service]
    /// trait Reader {
    ///     fn chat(&self, text: &str) -> AnswerStream;
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> ai_services::Result<()> {
    /// let call = ToolCall::new("1", "read", r#"{"pages": 3}"#);
    /// let model = ScriptedChatModel::new([ScriptedAnswer::tool_calls([call]), ScriptedAnswer::text("Done.")]);
    /// let reader = ReaderService::builder().chat_model(model).tools(read::tool()).build()?;
    /// let mut stream = reader.chat("Read it.");
    /// let mut pages = Vec::new();
    /// while let Some(event) = stream.next().await {
    ///     if let StreamEvent::ToolProgressed { progress, .. } = event? {
    ///         pages.push(progress.completed);
    ///     }
    /// }
    /// assert_eq!(pages, [1.0, 2.0, 3.0]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn report(&self, progress: ToolProgress) {
        self.signals.report(progress);
    }

    /// Returns the state of the earlier attempt that suspended the call, with the answers of the user.
    #[doc(hidden)]
    #[must_use]
    pub fn continuation(&self) -> Option<&Continuation> {
        self.continuation.as_deref()
    }

    /// Returns `true` if the call may wait for answers of the user, or for work elsewhere, by
    /// [`ToolError::suspended`]: its turn is durable, and the tool is [`suspending`](super::Tool::suspending).
    #[doc(hidden)]
    #[must_use]
    pub fn can_suspend(&self) -> bool {
        self.checkpoints.is_some()
    }

    /// Records the state with which the call goes on if its process ends now. Does nothing if the call cannot suspend.
    ///
    /// # Errors
    ///
    /// Fails if the state cannot be recorded. The service call fails then, and the tool is stopped.
    #[doc(hidden)]
    pub async fn checkpoint(&self, state: Awaited) -> Result<(), ToolError> {
        match &self.checkpoints {
            Some(checkpoints) => checkpoints.record(state).await,
            None => Ok(()),
        }
    }

    pub(super) fn signals(&self) -> &Signals {
        &self.signals
    }

    /// Parses the arguments.
    ///
    /// # Errors
    ///
    /// Fails if the arguments are not a JSON object, or contain one twice. Missing arguments are read as an
    /// empty object. Trailing commas and an object inside a JSON string are accepted.
    pub fn arguments(&self) -> Result<ToolArguments<'_>, ToolError> {
        ToolArguments::parse(self.call.arguments())
    }
}

/// The type of a `#[memory_id]` or `#[context]` parameter of a tool.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be injected into a tool",
    label = "not known to the call",
    note = "`#[memory_id]` takes `&MemoryId`, `MemoryId`, or an `Option` of these; `#[context]` takes `&InvocationContext`, `InvocationContext` or `&ToolInput`"
)]
pub trait FromToolInput<'a>: Sized {
    /// Returns the value for this call.
    ///
    /// # Errors
    ///
    /// Fails if the call does not have this value. The service call then fails.
    fn from_tool_input(input: &'a ToolInput) -> Result<Self, ToolError>;
}

impl<'a> FromToolInput<'a> for &'a MemoryId {
    fn from_tool_input(input: &'a ToolInput) -> Result<Self, ToolError> {
        input.memory_id().ok_or_else(|| {
            ToolError::fatal(
                "a tool requires the memory id, but the method has no `#[memory_id]` parameter",
            )
        })
    }
}

impl<'a> FromToolInput<'a> for MemoryId {
    fn from_tool_input(input: &'a ToolInput) -> Result<Self, ToolError> {
        <&Self>::from_tool_input(input).cloned()
    }
}

impl<'a> FromToolInput<'a> for Option<&'a MemoryId> {
    fn from_tool_input(input: &'a ToolInput) -> Result<Self, ToolError> {
        Ok(input.memory_id())
    }
}

impl<'a> FromToolInput<'a> for Option<MemoryId> {
    fn from_tool_input(input: &'a ToolInput) -> Result<Self, ToolError> {
        Ok(input.memory_id().cloned())
    }
}

impl<'a> FromToolInput<'a> for &'a InvocationContext {
    fn from_tool_input(input: &'a ToolInput) -> Result<Self, ToolError> {
        Ok(input.context())
    }
}

impl<'a> FromToolInput<'a> for InvocationContext {
    fn from_tool_input(input: &'a ToolInput) -> Result<Self, ToolError> {
        Ok(input.context().clone())
    }
}

impl<'a> FromToolInput<'a> for &'a ToolInput {
    fn from_tool_input(input: &'a ToolInput) -> Result<Self, ToolError> {
        Ok(input)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::invocation::TurnId;

    fn input(id: &str, arguments: &str, attempt: u32) -> ToolInput {
        let place = CallPlace { turn: TurnId::from_u128(7), round: 1, index: 0 };
        let call = ToolCall::new(id, "pay", arguments);
        ToolInput::new(&call, &ToolContext::default(), place, attempt)
    }

    #[test]
    fn key_is_the_same_for_each_attempt_and_each_id_of_the_provider() {
        let key = input("1", "{}", 1).idempotency_key();
        assert_eq!(input("call_0", "{}", 2).idempotency_key(), key);
    }

    #[test]
    fn key_of_the_place_replaces_a_key_that_cannot_be_rendered() {
        let template = Arc::new(KeyTemplate::checked("pay-{{order}}"));
        let key = |arguments| input("1", arguments, 1).with_key(Some(&template)).idempotency_key();
        assert_eq!(key(r#"{"order":"A7"}"#), "pay-A7");
        assert_eq!(key(r#"{"order":"A7""#), input("1", "{}", 1).idempotency_key());
        assert_eq!(key("{}"), input("1", "{}", 1).idempotency_key());
    }
}
