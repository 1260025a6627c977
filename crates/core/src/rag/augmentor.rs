//! Retrieval for an AI service.

use super::RetrievedContent;
use crate::error::{Error, Result};
use crate::forward::forward_through_arc;
use crate::invocation::TurnContext;
use crate::message::UserMessage;
use async_trait::async_trait;
use std::sync::Arc;

/// Retrieves contents for a user message and adds them to the prompt.
///
/// A service calls [`retrieve`](Self::retrieve), runs its input guardrails on the message and the contents,
/// and then calls [`inject`](Self::inject) with the message that the guardrails returned. The model receives
/// the result of `inject`; chat memory stores the user's own message, unless the service is configured
/// otherwise.
///
/// [`DefaultRetrievalAugmentor`](super::DefaultRetrievalAugmentor) is composed of replaceable parts.
/// Implement this trait if those parts do not fit.
///
/// Implementations carry `#[ai_services::async_trait]`. Without it, the compiler reports that "lifetime
/// parameters or bounds on method … do not match the trait declaration".
///
/// # Examples
///
/// ```
/// use ai_services::message::{Content, UserMessage};
/// use ai_services::rag::{RetrievalAugmentor, Retrieved, RetrievedContent};
/// use ai_services::testing::ScriptedChatModel;
/// use ai_services::{Result, TurnContext, ai_service, async_trait};
///
/// /// Adds the menu to every message.
/// struct Menu;
///
/// #[async_trait]
/// impl RetrievalAugmentor for Menu {
///     async fn retrieve(&self, _: &TurnContext) -> Result<Retrieved> {
///         Ok(Retrieved::new([RetrievedContent::from("Friday: fish")]))
///     }
///
///     fn inject(&self, message: &UserMessage, found: &[RetrievedContent]) -> Result<UserMessage> {
///         let menu = found.iter().map(|content| Content::from(content.segment.text()));
///         Ok(UserMessage::from_contents(message.contents().iter().cloned().chain(menu)))
///     }
/// }
///
/// #[ai_service]
/// trait Canteen {
///     async fn ask(&self, question: &str) -> Result<String>;
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<()> {
/// let model = ScriptedChatModel::replies(["There is fish."]);
/// let canteen =
///     CanteenService::builder().chat_model(model.clone()).retrieval_augmentor(Menu).build()?;
/// canteen.ask("What is for lunch?").await?;
/// let told = ["What is for lunch?", "Friday: fish"].map(Content::from);
/// assert_eq!(model.messages_of(0), [UserMessage::from_contents(told).into()]);
/// # Ok(())
/// # }
/// ```
#[async_trait]
pub trait RetrievalAugmentor: Send + Sync {
    /// Returns the contents that fit the user message of this turn, best first.
    ///
    /// # Errors
    ///
    /// Return an error if the search fails; the call then fails.
    async fn retrieve(&self, turn: &TurnContext) -> Result<Retrieved>;

    /// Returns the user's message with the contents added. Not called without contents.
    ///
    /// # Errors
    ///
    /// Return an error if the message cannot be built; the call then fails.
    fn inject(&self, message: &UserMessage, contents: &[RetrievedContent]) -> Result<UserMessage>;
}

forward_through_arc! {
    RetrievalAugmentor {
        async fn retrieve<'a, 'b>(&'a self, turn: &'b TurnContext) -> Result<Retrieved>;
        fn inject(&self, message: &UserMessage, contents: &[RetrievedContent]) -> Result<UserMessage>;
    }
}

/// Result of the retrieval for a turn.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Retrieved {
    /// Contents for the prompt, best first.
    pub contents: Vec<RetrievedContent>,
    /// Retrievers that failed and were skipped, so that contents may be missing. A retriever whose fallback
    /// succeeded is not in the list; if all its fallbacks failed, they are in the list as well.
    pub skipped: Vec<SkippedRetrieval>,
    /// Number of contents beyond the limits of the augmentor. They are not in `contents`.
    pub left_out: usize,
}

impl Retrieved {
    /// Creates a result with these contents and without failures.
    #[must_use]
    pub fn new(contents: impl IntoIterator<Item = RetrievedContent>) -> Self {
        Self { contents: contents.into_iter().collect(), ..Self::default() }
    }
}

/// A retriever that failed and was skipped, as its route allows.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SkippedRetrieval {
    /// Name of the retriever's route.
    pub route: Box<str>,
    /// Text of the query.
    pub query: Arc<str>,
    /// Cause of the failure.
    pub error: Arc<Error>,
}
