//! The outcome of a method whose turn may be suspended.

use super::response::Response;
use super::returned::Returned;
use crate::approval::PendingTurn;

/// The outcome of a method: a value, or a turn that waits, for example for [approval](crate::approval).
///
/// A method that returns `Result<Outcome<T>>` gets a suspended turn as a value. Any other method gets an error of the
/// kind [`ErrorKind::Suspended`](crate::ErrorKind::Suspended) with the same [`PendingTurn`] as its detail.
///
/// # Examples
///
/// ```
/// use ai_services::approval::Decision;
/// use ai_services::memory::{InMemoryChatMemoryStore, MessageWindowChatMemory};
/// use ai_services::message::ToolCall;
/// use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
/// use ai_services::{DurableTurns, Outcome, ai_service, tool};
///
/// #[ai_service]
/// trait Support {
///     async fn chat(&self, #[memory_id] user: &str, #[user_message] text: &str)
///         -> ai_services::Result<Outcome<String>>;
/// }
///
/// /// Refunds an order.
/// #[tool]
/// fn refund(order: String) -> String {
///     format!("refunded {order}")
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> ai_services::Result<()> {
/// let call = ToolCall::new("1", "refund", r#"{"order":"A7"}"#);
/// let answers = [ScriptedAnswer::tool_calls([call]), ScriptedAnswer::text("Done.")];
/// let store = InMemoryChatMemoryStore::new();
/// let support = SupportService::builder()
///     .chat_model(ScriptedChatModel::new(answers))
///     .tools(refund::tool().requiring_approval())
///     .chat_memory_provider({
///         let store = store.clone();
///         move |id| {
///             let window = MessageWindowChatMemory::builder().id(id).max_messages(20);
///             window.store(store.clone()).build()
///         }
///     })
///     .durable_turns(DurableTurns::new())
///     .build()?;
///
/// let Outcome::Pending(pending) = support.chat("ann", "Refund A7, please.").await? else {
///     unreachable!("the tool requires approval")
/// };
/// assert_eq!((&*pending.calls[0].tool, &*pending.calls[0].arguments), ("refund", r#"{"order":"A7"}"#));
///
/// // Later, maybe in another process:
/// pending.decide(&store, [Decision::Approve]).await?;
/// let turn = support.resume("ann").await?.expect("the turn is open");
/// assert_eq!(turn.response.value.text(), Some("Done."));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub enum Outcome<T> {
    /// The turn is stored. This is the value of the method.
    Completed(T),
    /// The turn waits for decisions about its tool calls, or for the end of a task.
    Pending(Box<PendingTurn>),
}

impl<T> Outcome<T> {
    /// Returns the value, if the turn is not suspended.
    pub fn completed(self) -> Option<T> {
        match self {
            Self::Completed(value) => Some(value),
            Self::Pending(_) => None,
        }
    }
}

impl<T: Returned> Returned for Outcome<T> {
    type Output = T::Output;

    fn from_output(
        value: T::Output,
        respond: impl FnOnce(T::Output) -> Response<T::Output>,
    ) -> Self {
        Self::Completed(T::from_output(value, respond))
    }

    fn from_pending(pending: &PendingTurn) -> Option<Self> {
        Some(Self::Pending(Box::new(pending.clone())))
    }
}
