//! The effects of a tool on the outside world.

use super::bounded::TimeLimit;
use super::error::ToolError;
use super::input::ToolInput;
use super::output::ToolOutput;
use futures_util::future::{BoxFuture, FutureExt};
use std::fmt;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// The effect of a tool on the outside world: the reason why a call may be repeated or not.
///
/// A process can end after a tool has taken effect and before its result is stored. When the turn is resumed,
/// the result is lost, and the effect class of the tool decides about the call.
///
/// A tool that is stopped by its time limit, panics, or returns [`ToolError::outcome_unknown`] may have taken effect,
/// too. Such a call is not repeated, except by the model. Unless the tool only reads or its verifier finds the outcome, the model and the caller get
/// "outcome unknown".
///
/// Declare it with `#[tool(read_only)]`, `#[tool(idempotent)]` or `#[tool(verify = name)]`, or set it with
/// [`Tool::with_effect`](super::Tool::with_effect). Default: [`AtMostOnce`](Self::AtMostOnce).
#[derive(Clone, Debug, Default)]
pub enum Effect {
    /// A call has no effect. It may be repeated at any time.
    ReadOnly,
    /// A repeated call with the same [idempotency key](ToolInput::idempotency_key) has no second effect. The call
    /// is repeated when the turn is resumed. If it was stopped, the model learns that it may repeat the call, provided
    /// that a [template](super::Tool::with_key) gives both calls the same key.
    ///
    /// This holds only if the tool sends the key to its receiver, and the receiver honours it.
    Idempotent,
    /// The outside world can report the outcome of a call whose result was lost. The verifier decides.
    Verifiable(Verifier),
    /// A call is not repeated. If its result was lost, the model and the caller get "outcome unknown".
    #[default]
    AtMostOnce,
}

/// The state of an earlier attempt at a call, as its receiver reports it.
#[derive(Clone, Debug, PartialEq)]
pub enum CallState {
    /// The call took effect. This is its output.
    Executed(ToolOutput),
    /// The call did not take effect, and no earlier attempt can take effect any more. The call may run again,
    /// with the same idempotency key.
    ///
    /// "Not found" is not enough: a paused process may still be about to send the call. Return `NotExecuted`
    /// only if an earlier attempt cannot take effect any more, for example because it was cancelled or has
    /// expired, or if the receiver removes duplicates by the idempotency key. Otherwise return
    /// [`Unknown`](Self::Unknown).
    NotExecuted,
    /// The outcome cannot be determined. The call is not repeated; the model and the caller get "outcome
    /// unknown".
    Unknown,
}

/// A function that reports the outcome of a tool call whose result was lost, or whose tool was stopped.
///
/// It gets the same call, with the same arguments and the same [idempotency key](ToolInput::idempotency_key).
/// It has the time limit of the tool. If it fails, the outcome stays unknown.
///
/// # Examples
///
/// ```
/// use ai_services::model::ToolSpecification;
/// use ai_services::tool::{CallState, Effect, Tool, ToolOutput, Verifier};
/// # async fn find_payment(_reference: &str) -> Option<String> { None }
///
/// let verifier = Verifier::from_fn(|call| async move {
///     Ok(match find_payment(&call.idempotency_key()).await {
///         Some(receipt) => CallState::Executed(ToolOutput::text(receipt)),
///         // The first attempt may still be under way.
///         None => CallState::Unknown,
///     })
/// });
/// let pay = Tool::from_fn(ToolSpecification::new("pay", "Pays the bill."), |_call| async {
///     Ok(ToolOutput::text("paid"))
/// });
/// let pay = pay.with_effect(Effect::Verifiable(verifier));
/// assert!(matches!(pay.effect(), Effect::Verifiable(_)));
/// ```
#[derive(Clone)]
pub struct Verifier(Arc<Function>);

type Function = dyn Fn(ToolInput) -> BoxFuture<'static, Result<CallState, ToolError>> + Send + Sync;

impl Verifier {
    /// Creates a verifier from an async function.
    #[must_use]
    pub fn from_fn<F, Fut>(verify: F) -> Self
    where
        F: Fn(ToolInput) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<CallState, ToolError>> + Send + 'static,
    {
        Self(Arc::new(move |call| verify(call).boxed()))
    }

    /// Calls the function. A panic and a missed time limit are errors.
    pub(super) async fn call(
        &self,
        call: ToolInput,
        timeout: Duration,
    ) -> Result<CallState, ToolError> {
        let limit = TimeLimit { started: Instant::now(), timeout };
        let signals = call.signals().clone();
        let running = pin!(async { limit.apply(&signals, (self.0)(call))?.await });
        signals.follow(running, |_| {}).await
    }
}

impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Verifier(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::invocation::TurnId;
    use crate::message::ToolCall;
    use crate::model::ToolSpecification;
    use crate::tool::error::FailureKind;
    use crate::tool::{CallPlace, KeyTemplate, Tool, ToolContext};

    const TIMEOUT: Duration = Duration::from_secs(5);

    fn tool(effect: Effect) -> Tool {
        let paid = |_call| async { Ok(ToolOutput::text("paid")) };
        Tool::from_fn(ToolSpecification::new("pay", "Pays."), paid).with_effect(effect)
    }

    fn verifiable<Fut>(verify: impl Fn(ToolInput) -> Fut + Send + Sync + 'static) -> Tool
    where
        Fut: Future<Output = Result<CallState, ToolError>> + Send + 'static,
    {
        tool(Effect::Verifiable(Verifier::from_fn(verify)))
    }

    fn lost_call() -> ToolInput {
        let call = ToolCall::new("1", "pay", r#"{"order":"A7"}"#);
        let place = CallPlace { turn: TurnId::from_u128(7), round: 1, index: 0 };
        ToolInput::new(&call, &ToolContext::default(), place, 2)
    }

    #[test]
    fn effect_is_at_most_once_by_default() {
        let tool = Tool::from_fn(ToolSpecification::new("pay", "Pays."), |_call| async {
            Ok(ToolOutput::text("paid"))
        });
        assert!(matches!(tool.effect(), Effect::AtMostOnce));
    }

    #[tokio::test]
    async fn state_without_a_verifier_is_unknown() {
        let state = tool(Effect::Idempotent).state_of(lost_call(), TIMEOUT).await;
        assert_eq!(state.unwrap(), CallState::Unknown);
    }

    #[tokio::test]
    async fn verifier_gets_the_key_and_the_attempt() {
        let tool = verifiable(|call| async move {
            let seen = format!("{} {}", call.idempotency_key(), call.attempt());
            Ok(CallState::Executed(ToolOutput::text(seen)))
        });
        let tool = tool.with_key_template(KeyTemplate::checked("pay-{{order}}"));
        let state = tool.state_of(lost_call(), TIMEOUT).await;
        assert_eq!(state.unwrap(), CallState::Executed(ToolOutput::text("pay-A7 2")));
    }

    #[tokio::test]
    async fn panic_of_a_verifier_is_an_error() {
        for tool in [
            verifiable(|_call| async { panic!("lost its mind") }),
            tool(Effect::Verifiable(Verifier(Arc::new(|_call| panic!("lost its mind"))))),
        ] {
            let error = tool.state_of(lost_call(), TIMEOUT).await.unwrap_err();
            assert_eq!(error.failure, FailureKind::Panic);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn verifier_has_the_time_limit_of_the_tool() {
        let tool = verifiable(|_call| std::future::pending());
        let error = tool.state_of(lost_call(), TIMEOUT).await.unwrap_err();
        assert_eq!(error.to_string(), "the tool took longer than 5s and was stopped");
        let tool = tool.with_timeout(Duration::from_secs(1));
        let error = tool.state_of(lost_call(), TIMEOUT).await.unwrap_err();
        assert_eq!(error.to_string(), "the tool took longer than 1s and was stopped");
    }
}
