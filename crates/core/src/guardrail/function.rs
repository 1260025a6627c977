//! Guardrails from closures.

use super::{
    InputGuardrail, InputGuardrailRequest, InputVerdict, OutputGuardrail, OutputGuardrailRequest,
    OutputVerdict,
};
use crate::error::Result;
use async_trait::async_trait;
use std::fmt;
use std::future::Future;

/// A guardrail from a closure; created by [`input_guardrail_fn`] or [`output_guardrail_fn`].
#[derive(Clone)]
pub struct GuardrailFn<F> {
    name: Box<str>,
    check: F,
}

/// Creates an [`InputGuardrail`] from a closure.
///
/// The future must not borrow from the request. Copy the needed data out of the request first:
/// messages and the turn are cheap to clone. For a check without `await`, return a
/// [`std::future::ready`].
///
/// # Examples
///
/// ```
/// use ai_services::guardrail::{InputVerdict, input_guardrail_fn};
/// use ai_services::testing::guardrails::check_input;
/// use std::future::ready;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> ai_services::Result<()> {
/// let no_shouting = input_guardrail_fn("no_shouting", |request| {
///     let shouts = request.text().ends_with("!!!");
///     let verdict = if shouts {
///         InputVerdict::Failure("do not shout".into())
///     } else {
///         InputVerdict::Success
///     };
///     ready(Ok(verdict))
/// });
/// check_input(&no_shouting, "Help!!!").await.check_rejected_because("do not shout")?;
///
/// let known_users = input_guardrail_fn("known_users", |request| {
///     let turn = request.turn.clone();
///     async move {
///         // A database could be queried here.
///         Ok(match turn.memory_id() {
///             Some(_) => InputVerdict::Success,
///             None => InputVerdict::Fatal("sign in first".into()),
///         })
///     }
/// });
/// check_input(&known_users, "Hi!").await.check_fatal_because("sign in")?;
/// # Ok(())
/// # }
/// ```
pub fn input_guardrail_fn<F, Fut>(name: impl Into<Box<str>>, check: F) -> GuardrailFn<F>
where
    F: Fn(InputGuardrailRequest<'_>) -> Fut + Send + Sync,
    Fut: Future<Output = Result<InputVerdict>> + Send + 'static,
{
    GuardrailFn { name: name.into(), check }
}

/// Creates an [`OutputGuardrail`] from a closure.
///
/// The future must not borrow from the request; see [`input_guardrail_fn`].
///
/// # Examples
///
/// ```
/// use ai_services::guardrail::{OutputVerdict, output_guardrail_fn};
/// use ai_services::testing::guardrails::check_output;
/// use std::future::ready;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> ai_services::Result<()> {
/// let polite = output_guardrail_fn("polite", |request| {
///     ready(Ok(if request.text().contains("please") {
///         OutputVerdict::Success
///     } else {
///         OutputVerdict::Reprompt {
///             reason: "the answer is not polite".into(),
///             prompt: "Say it again, and say please.".into(),
///         }
///     }))
/// });
/// check_output(&polite, "Wait.").await.check_reprompted_with("say please")?;
/// # Ok(())
/// # }
/// ```
pub fn output_guardrail_fn<F, Fut>(name: impl Into<Box<str>>, check: F) -> GuardrailFn<F>
where
    F: Fn(OutputGuardrailRequest<'_>) -> Fut + Send + Sync,
    Fut: Future<Output = Result<OutputVerdict>> + Send + 'static,
{
    GuardrailFn { name: name.into(), check }
}

#[async_trait]
impl<F, Fut> InputGuardrail for GuardrailFn<F>
where
    F: Fn(InputGuardrailRequest<'_>) -> Fut + Send + Sync,
    Fut: Future<Output = Result<InputVerdict>> + Send + 'static,
{
    async fn check(&self, request: InputGuardrailRequest<'_>) -> Result<InputVerdict> {
        (self.check)(request).await
    }

    fn name(&self) -> &str {
        &self.name
    }
}

#[async_trait]
impl<F, Fut> OutputGuardrail for GuardrailFn<F>
where
    F: Fn(OutputGuardrailRequest<'_>) -> Fut + Send + Sync,
    Fut: Future<Output = Result<OutputVerdict>> + Send + 'static,
{
    async fn check(&self, request: OutputGuardrailRequest<'_>) -> Result<OutputVerdict> {
        (self.check)(request).await
    }

    fn name(&self) -> &str {
        &self.name
    }
}

impl<F> fmt::Debug for GuardrailFn<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GuardrailFn").field("name", &self.name).finish_non_exhaustive()
    }
}
