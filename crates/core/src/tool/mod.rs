//! Tools: functions that a model may call.
//!
//! Most tools are methods marked with `#[tool]` in a block marked with
//! `#[tools]`. [`Tool::from_fn`] creates a tool by hand, and a [`ToolProvider`]
//! selects additional tools for each call.

mod arguments;
mod error;
mod input;
mod output;
mod policy;
mod provider;
mod run;
mod text_or_json;
mod toolbox;

pub use crate::invocation::ToolExecution;
pub use arguments::{ToolArguments, ToolParameter};
pub use error::{IntoToolError, ToolError};
pub use input::{FromToolInput, ToolInput};
pub use output::{IntoToolOutput, ToolOutput};
pub use policy::{ToolArgumentsPolicy, ToolErrorPolicy, UnknownToolPolicy};
pub use provider::{ToolProvider, ToolRequest};

#[doc(hidden)]
pub use arguments::is_optional as argument_is_optional;
#[doc(hidden)]
pub use input::ToolContext;
#[doc(hidden)]
pub use policy::ToolSettings;
#[doc(hidden)]
pub use run::{ResultUse, Runner, ToolObserver, ToolRun};
#[doc(hidden)]
pub use toolbox::Toolbox;

use crate::model::ToolSpecification;
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
        let start = move |input| Ok(StartedTool::Running(handler(input).boxed()));
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

    fn inner_mut(&mut self) -> &mut Inner {
        Arc::make_mut(&mut self.0)
    }

    fn start(&self, input: ToolInput) -> Result<StartedTool, ToolError> {
        (self.0.handler)(input)
    }
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tool")
            .field("specification", &self.0.specification)
            .field("timeout", &self.0.timeout)
            .field("order", &self.0.order)
            .field("then", &self.0.then)
            .finish_non_exhaustive()
    }
}

/// A set of tools: a value whose `impl` block is marked with `#[tools]`, a [`Tool`],
/// or a list of tools.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no tools",
    label = "not a tool or a set of tools",
    note = "mark an `impl` block of the type with `#[tools]`, and its methods with `#[tool]`",
    note = "a free function marked `#[tool]` is passed as `name::tool()`"
)]
pub trait ToolSet: Send + Sync + 'static {
    /// Returns the tools, in the order in which their specifications are sent to the model.
    fn tools(self: Arc<Self>) -> Vec<Tool>;
}

impl<T: ToolSet> ToolSet for Arc<T> {
    fn tools(self: Arc<Self>) -> Vec<Tool> {
        T::tools(Self::clone(&self))
    }
}

impl ToolSet for Tool {
    fn tools(self: Arc<Self>) -> Vec<Tool> {
        vec![Self::clone(&self)]
    }
}

impl ToolSet for Vec<Tool> {
    fn tools(self: Arc<Self>) -> Vec<Tool> {
        Arc::unwrap_or_clone(self)
    }
}
