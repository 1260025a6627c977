//! Tools: functions that a model may call.
//!
//! Most tools are methods marked with `#[tool]` in a block marked with
//! `#[tools]`. [`Tool::from_fn`] creates a tool by hand, and a [`ToolProvider`]
//! selects additional tools for each call.

mod arguments;
mod bounded;
mod checkpoint;
mod effect;
mod error;
mod input;
mod key;
mod logged_run;
mod lost_effect;
mod lost_result;
mod output;
mod policy;
mod progress;
mod provider;
mod run;
mod search;
mod set;
mod signals;
mod text_or_json;
mod toolbox;

pub use crate::invocation::ToolExecution;
pub use arguments::{ToolArguments, ToolParameter};
pub use effect::{CallState, Effect, Verifier};
pub use error::{IntoToolError, ToolError};
pub use input::{FromToolInput, ToolInput};
pub use output::{IntoToolOutput, ToolOutput};
pub use policy::{ToolArgumentsPolicy, ToolErrorPolicy, UnknownToolPolicy};
pub use progress::ToolProgress;
pub use provider::{ToolProvider, ToolRefresh, ToolRequest};
pub use search::ToolSearch;
pub use set::ToolSet;
pub use signals::CancellationToken;

#[doc(hidden)]
pub use arguments::is_optional as argument_is_optional;
#[doc(hidden)]
pub use input::ToolContext;
#[doc(hidden)]
pub use key::{CallPlace, KeyTemplate};
#[doc(hidden)]
pub use logged_run::{LoggedRunner, PriorCall, StartedCall, ToolLog};
#[doc(hidden)]
pub use policy::ToolSettings;
#[doc(hidden)]
pub use run::{ResultUse, Runner, ToolObserver, ToolRun};
#[doc(hidden)]
pub use toolbox::Toolbox;

use crate::approval::PendingTurn;
use crate::error::Result;
use crate::message::ToolCall;
use crate::model::{ToolLoading, ToolSpecification};
use futures_util::future::{BoxFuture, FutureExt};
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

/// A tool that a model may call: a specification for the model and a function to run.
///
/// Cloning is cheap.
///
/// # Examples
///
/// ```
/// use ai_services::model::ToolSpecification;
/// use ai_services::tool::{Tool, ToolOutput};
///
/// let specification = ToolSpecification::new("dice", "Rolls a die.");
/// let dice = Tool::from_fn(specification, |_input| async { Ok(ToolOutput::text("4")) });
/// assert_eq!(dice.name(), "dice");
/// ```
#[derive(Clone)]
pub struct Tool(Arc<Inner>);

/// The function of a tool. It reads the arguments and fails if they are wrong.
#[doc(hidden)]
pub type ToolHandler = dyn Fn(ToolInput) -> Result<StartedTool, ToolError> + Send + Sync;

/// Returns `true` if a turn that a call of the tool waits for still waits for decisions.
#[doc(hidden)]
pub type PendingProbe = dyn Fn(&PendingTurn) -> BoxFuture<'static, Result<bool>> + Send + Sync;

/// A tool that got its arguments.
#[doc(hidden)]
#[allow(missing_debug_implementations, reason = "a future has nothing to show")]
pub enum StartedTool {
    /// The tool has finished.
    Finished(ToolOutput),
    /// The tool has to be awaited.
    Running(BoxFuture<'static, Result<ToolOutput, ToolError>>),
}

#[derive(Clone)]
struct Inner {
    specification: ToolSpecification,
    handler: Arc<ToolHandler>,
    timeout: Option<Duration>,
    order: Order,
    then: Then,
    effect: Effect,
    key: Option<Arc<KeyTemplate>>,
    requires_approval: bool,
    probe: Option<Arc<PendingProbe>>,
    /// `true` if a call of the tool may suspend its turn in the middle.
    suspends: bool,
    /// `true` if the tool is a method of a service.
    is_nested: bool,
}

/// The concurrency of a tool with other tools that are called by the same answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// The tool may run at the same time as others.
    Concurrent,
    /// The tool never runs at the same time as others.
    Sequential,
}

/// The use of the result of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    /// The result is sent to the model.
    SendToModel,
    /// The result is the answer, and the model is not called again.
    ReturnImmediately,
}

impl Tool {
    /// Creates a tool from its specification and an async function.
    #[must_use]
    pub fn from_fn<F, Fut>(specification: ToolSpecification, handler: F) -> Self
    where
        F: Fn(ToolInput) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<ToolOutput, ToolError>> + Send + 'static,
    {
        // Called by the future, which has the time limit.
        let handler = Arc::new(handler);
        let start = move |input| {
            let handler = Arc::clone(&handler);
            Ok(StartedTool::Running(async move { handler(input).await }.boxed()))
        };
        Self::from_handler(specification, Arc::new(start))
    }

    /// Creates a tool from its specification and its function.
    #[doc(hidden)]
    #[must_use]
    pub fn from_handler(specification: ToolSpecification, handler: Arc<ToolHandler>) -> Self {
        Self(Arc::new(Inner {
            specification,
            handler,
            timeout: None,
            order: Order::Concurrent,
            then: Then::SendToModel,
            effect: Effect::AtMostOnce,
            key: None,
            requires_approval: false,
            probe: None,
            suspends: false,
            is_nested: false,
        }))
    }

    /// Sets a time limit for this tool, which replaces the time limit of the service. It does not apply to a
    /// function with `#[tool]` that is not `async`.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.inner_mut().timeout = Some(timeout);
        self
    }

    /// Makes the tool run alone: earlier calls of the same answer finish first, and later calls wait.
    #[must_use]
    pub fn sequential(mut self) -> Self {
        self.inner_mut().order = Order::Sequential;
        self
    }

    /// Makes the result of the tool the answer of the service: if every tool that the model calls at once is
    /// marked this way, and all calls succeed, the model is not called again.
    #[must_use]
    #[doc(alias = "ReturnBehavior")]
    pub fn return_immediately(mut self) -> Self {
        self.inner_mut().then = Then::ReturnImmediately;
        self
    }

    /// Sets the effect of the tool on the outside world, which decides if a call may be repeated. Default:
    /// [`Effect::AtMostOnce`].
    #[must_use]
    pub fn with_effect(mut self, effect: Effect) -> Self {
        self.inner_mut().effect = effect;
        self
    }

    /// Sets a template for the [idempotency key](ToolInput::idempotency_key) of each call, for example
    /// `"refund-{{order}}"`. The placeholders are names of parameters. Default: a key of its own for each call.
    ///
    /// With a template, two calls with the same arguments share a key, in this and in other turns and
    /// conversations: choose arguments that identify the effect. Separate the placeholders by a text that
    /// the values do not contain.
    ///
    /// # Errors
    ///
    /// Fails if the template is malformed, has no placeholder, or has a placeholder that is not a property of
    /// [`ToolSpecification::parameters`].
    ///
    /// # Examples
    ///
    /// ```
    /// use ai_services::model::ToolSpecification;
    /// use ai_services::tool::{Effect, Tool, ToolOutput};
    /// use schemars::json_schema;
    ///
    /// let parameters = json_schema!({ "type": "object", "properties": { "order": { "type": "string" } } });
    /// let specification = ToolSpecification::new("refund", "Refunds an order.").with_parameters(parameters);
    /// let refund = Tool::from_fn(specification, |call| async move {
    ///     Ok(ToolOutput::text(format!("refunded with key {}", call.idempotency_key())))
    /// });
    /// let refund = refund.with_effect(Effect::Idempotent).with_key("refund-{{order}}")?;
    /// # Ok::<(), ai_services::Error>(())
    /// ```
    pub fn with_key(self, template: &str) -> Result<Self> {
        let key = KeyTemplate::parse(template, self.0.specification.parameters.as_ref())?;
        Ok(self.with_key_template(key))
    }

    /// Sets a template for the idempotency key of each call.
    #[doc(hidden)]
    #[must_use]
    pub fn with_key_template(mut self, key: KeyTemplate) -> Self {
        self.inner_mut().key = Some(Arc::new(key));
        self
    }

    /// Makes each call of the tool wait for [approval](crate::approval). Default: no approval.
    #[must_use]
    pub fn requiring_approval(mut self) -> Self {
        self.inner_mut().requires_approval = true;
        self
    }

    /// Marks the tool as a method of a service, which makes requests of its own.
    #[doc(hidden)]
    #[must_use]
    pub fn nested(mut self) -> Self {
        self.inner_mut().is_nested = true;
        self
    }

    /// Declares that calls of the tool may wait for answers of the user, or for work elsewhere, if their turn is durable.
    #[doc(hidden)]
    #[must_use]
    pub fn suspending(mut self) -> Self {
        self.inner_mut().suspends = true;
        self
    }

    /// Sets the probe of a tool that may suspend the turn that calls it. With a probe, a turn is resumed only after the
    /// decision.
    #[doc(hidden)]
    #[must_use]
    pub fn with_pending_probe(mut self, probe: Arc<PendingProbe>) -> Self {
        self.inner_mut().probe = Some(probe);
        self
    }

    /// Returns `true` if a call of the tool waits for this turn, and no decision was made. Without a probe: `false`.
    ///
    /// # Errors
    ///
    /// Fails if the store of the turn fails.
    #[doc(hidden)]
    pub async fn is_pending(&self, pending: &PendingTurn) -> Result<bool> {
        match &self.0.probe {
            Some(probe) => probe(pending).await,
            None => Ok(false),
        }
    }

    /// Returns `true` if each call of the tool waits for approval, unless the policy of the service decides
    /// otherwise.
    #[must_use]
    pub fn requires_approval(&self) -> bool {
        self.0.requires_approval
    }

    /// Sets the name of the tool, for example if tools of two sources share it. See also [`ToolSet::with_prefix`].
    #[must_use]
    pub fn with_name(mut self, name: impl Into<Box<str>>) -> Self {
        self.inner_mut().specification.name = name.into();
        self
    }

    /// Sets the time at which the model loads the definition.
    pub(super) fn with_loading(mut self, loading: ToolLoading) -> Self {
        self.inner_mut().specification.loading = loading;
        self
    }

    /// Returns the name of the tool.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.specification.name
    }

    /// Returns the specification that is sent to the model.
    #[must_use]
    pub fn specification(&self) -> &ToolSpecification {
        &self.0.specification
    }

    /// Returns the effect of the tool on the outside world.
    #[must_use]
    pub fn effect(&self) -> &Effect {
        &self.0.effect
    }

    /// Returns `true` if the arguments determine the idempotency key of a call.
    #[doc(hidden)]
    #[must_use]
    pub fn has_key_template(&self) -> bool {
        self.0.key.is_some()
    }

    /// Asks for the outcome of an earlier attempt at a call. Without a verifier, the outcome is unknown.
    /// `timeout` applies to a tool without a time limit of its own.
    ///
    /// # Errors
    ///
    /// Fails if the verifier fails, panics or exceeds the time limit.
    #[doc(hidden)]
    pub async fn state_of(
        &self,
        call: ToolInput,
        timeout: Duration,
    ) -> Result<CallState, ToolError> {
        let Effect::Verifiable(verifier) = self.effect() else { return Ok(CallState::Unknown) };
        let timeout = self.0.timeout.unwrap_or(timeout);
        verifier.call(call.with_key(self.0.key.as_ref()), timeout).await
    }

    fn inner_mut(&mut self) -> &mut Inner {
        Arc::make_mut(&mut self.0)
    }

    /// Returns `true` if each call with the same arguments has the same idempotency key as this call.
    fn has_shared_key(&self, call: &ToolCall) -> bool {
        self.0.key.as_ref().and_then(|key| key.render(call.arguments())).is_some()
    }

    fn start(&self, input: ToolInput) -> Result<StartedTool, ToolError> {
        (self.0.handler)(input.with_key(self.0.key.as_ref()))
    }
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tool")
            .field("specification", &self.0.specification)
            .field("timeout", &self.0.timeout)
            .field("order", &self.0.order)
            .field("then", &self.0.then)
            .field("effect", &self.0.effect)
            .field("key", &self.0.key)
            .field("requires_approval", &self.0.requires_approval)
            .finish_non_exhaustive()
    }
}
