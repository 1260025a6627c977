//! Guardrails with scripted verdicts.

use ai_services_core::TurnContext;
use ai_services_core::document::TextSegment;
use ai_services_core::guardrail::{
    InputGuardrail, InputGuardrailRequest, InputVerdict, OutputGuardrail, OutputGuardrailRequest,
    OutputVerdict,
};
use ai_services_core::message::UserMessage;
use ai_services_core::model::ChatResponse;
use ai_services_core::{Error, Result};
use async_trait::async_trait;
use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A recorded request of an input guardrail.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RecordedInput {
    /// The message of the user, with the changes of earlier guardrails.
    pub user_message: UserMessage,
    /// Retrieved contents.
    pub contents: Vec<TextSegment>,
    /// Context of the turn.
    pub turn: TurnContext,
}

/// A recorded request of an output guardrail.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RecordedOutput {
    /// The answer, with the changes of earlier guardrails.
    pub response: ChatResponse,
    /// Retrieved contents.
    pub contents: Vec<TextSegment>,
    /// Context of the turn.
    pub turn: TurnContext,
    /// Number of answers of the turn that were already rejected.
    pub rejected: u32,
}

/// The script and the recorded requests of a guardrail.
struct ScriptState<R, V> {
    name: Box<str>,
    script: Script<R, V>,
    requests: Mutex<Vec<R>>,
}

enum Script<R, V> {
    Verdicts(Mutex<VecDeque<V>>),
    Function(Box<Function<R, V>>),
}

type Function<R, V> = dyn Fn(usize, &R) -> Result<V> + Send + Sync;

impl<R: Clone, V> ScriptState<R, V> {
    fn of(name: impl Into<Box<str>>, verdicts: impl IntoIterator<Item = V>) -> Arc<Self> {
        let script = Script::Verdicts(Mutex::new(verdicts.into_iter().collect()));
        Arc::new(Self { name: name.into(), script, requests: Mutex::default() })
    }

    fn from_fn(
        name: impl Into<Box<str>>,
        verdict: impl Fn(usize, &R) -> Result<V> + Send + Sync + 'static,
    ) -> Arc<Self> {
        let script = Script::Function(Box::new(verdict));
        Arc::new(Self { name: name.into(), script, requests: Mutex::default() })
    }

    fn next(&self, request: &R) -> Result<V> {
        let number = {
            let mut requests = lock(&self.requests);
            requests.push(request.clone());
            requests.len() - 1
        };
        match &self.script {
            Script::Function(verdict) => verdict(number, request),
            Script::Verdicts(verdicts) => lock(verdicts).pop_front().ok_or_else(|| {
                let name = &self.name;
                Error::configuration(format!(
                    "the script of the guardrail `{name}` has no verdict for request {number}"
                ))
            }),
        }
    }

    fn unused(&self) -> usize {
        match &self.script {
            Script::Verdicts(verdicts) => lock(verdicts).len(),
            Script::Function(_) => 0,
        }
    }

    fn check_finished(&self) -> Result<()> {
        let (unused, calls) = (self.unused(), lock(&self.requests).len());
        match unused {
            0 => Ok(()),
            unused => Err(Error::configuration(format!(
                "{unused} verdicts of the guardrail `{}` were not used; it was called {calls} times",
                self.name
            ))),
        }
    }

    fn print(&self, f: &mut fmt::Formatter<'_>, name: &str) -> fmt::Result {
        f.debug_struct(name)
            .field("name", &self.name)
            .field("requests", &lock(&self.requests).len())
            .field("unused_verdicts", &self.unused())
            .finish()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An input guardrail that returns scripted verdicts in order and records every request.
///
/// Clones share the script and the records.
///
/// # Examples
///
/// ```
/// use ai_services::guardrail::InputVerdict;
/// use ai_services::testing::guardrails::{ScriptedInputGuardrail, check_input};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> ai_services::Result<()> {
/// let verdicts = [InputVerdict::Success, InputVerdict::Failure("no".into())];
/// let guardrail = ScriptedInputGuardrail::new("strict", verdicts);
/// check_input(&guardrail, "one").await.check_success()?;
/// check_input(&guardrail, "two").await.check_rejected_because("no")?;
///
/// assert_eq!(guardrail.requests()[1].user_message.text(), Some("two"));
/// guardrail.check_finished()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ScriptedInputGuardrail(Arc<ScriptState<RecordedInput, InputVerdict>>);

impl ScriptedInputGuardrail {
    /// Creates a guardrail that returns these verdicts in order. Further requests fail.
    pub fn new(
        name: impl Into<Box<str>>,
        verdicts: impl IntoIterator<Item = InputVerdict>,
    ) -> Self {
        Self(ScriptState::of(name, verdicts))
    }

    /// Creates a guardrail with a function that returns the verdict for the number of the request (0, 1, …)
    /// and the request.
    pub fn from_fn(
        name: impl Into<Box<str>>,
        verdict: impl Fn(usize, &RecordedInput) -> Result<InputVerdict> + Send + Sync + 'static,
    ) -> Self {
        Self(ScriptState::from_fn(name, verdict))
    }

    /// Returns all requests so far, in order.
    #[must_use]
    pub fn requests(&self) -> Vec<RecordedInput> {
        lock(&self.0.requests).clone()
    }

    /// Checks that all verdicts were used.
    ///
    /// # Errors
    ///
    /// Fails if verdicts are left; the message has their number.
    pub fn check_finished(&self) -> Result<()> {
        self.0.check_finished()
    }
}

#[async_trait]
impl InputGuardrail for ScriptedInputGuardrail {
    async fn check(&self, request: InputGuardrailRequest<'_>) -> Result<InputVerdict> {
        self.0.next(&RecordedInput {
            user_message: request.user_message.clone(),
            contents: request.contents.to_vec(),
            turn: request.turn.clone(),
        })
    }

    fn name(&self) -> &str {
        &self.0.name
    }
}

impl fmt::Debug for ScriptedInputGuardrail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.print(f, "ScriptedInputGuardrail")
    }
}

/// An output guardrail that returns scripted verdicts in order and records every request.
///
/// Clones share the script and the records.
///
/// # Examples
///
/// ```
/// use ai_services::guardrail::OutputVerdict;
/// use ai_services::testing::guardrails::{ScriptedOutputGuardrail, check_output};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> ai_services::Result<()> {
/// let guardrail = ScriptedOutputGuardrail::from_fn("second_try", |number, _| {
///     Ok(if number == 0 { OutputVerdict::Retry("once more".into()) } else { OutputVerdict::Success })
/// });
/// check_output(&guardrail, "a").await.check_retried_because("once more")?;
/// check_output(&guardrail, "b").rejected(1).await.check_success()?;
/// assert_eq!(guardrail.requests()[1].rejected, 1);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ScriptedOutputGuardrail(Arc<ScriptState<RecordedOutput, OutputVerdict>>);

impl ScriptedOutputGuardrail {
    /// Creates a guardrail that returns these verdicts in order. Further requests fail.
    pub fn new(
        name: impl Into<Box<str>>,
        verdicts: impl IntoIterator<Item = OutputVerdict>,
    ) -> Self {
        Self(ScriptState::of(name, verdicts))
    }

    /// Creates a guardrail with a function that returns the verdict for the number of the request (0, 1, …)
    /// and the request.
    pub fn from_fn(
        name: impl Into<Box<str>>,
        verdict: impl Fn(usize, &RecordedOutput) -> Result<OutputVerdict> + Send + Sync + 'static,
    ) -> Self {
        Self(ScriptState::from_fn(name, verdict))
    }

    /// Returns all requests so far, in order.
    #[must_use]
    pub fn requests(&self) -> Vec<RecordedOutput> {
        lock(&self.0.requests).clone()
    }

    /// Checks that all verdicts were used.
    ///
    /// # Errors
    ///
    /// Fails if verdicts are left; the message has their number.
    pub fn check_finished(&self) -> Result<()> {
        self.0.check_finished()
    }
}

#[async_trait]
impl OutputGuardrail for ScriptedOutputGuardrail {
    async fn check(&self, request: OutputGuardrailRequest<'_>) -> Result<OutputVerdict> {
        self.0.next(&RecordedOutput {
            response: request.response.clone(),
            contents: request.contents.to_vec(),
            turn: request.turn.clone(),
            rejected: request.rejected,
        })
    }

    fn name(&self) -> &str {
        &self.0.name
    }
}

impl fmt::Debug for ScriptedOutputGuardrail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.print(f, "ScriptedOutputGuardrail")
    }
}
