//! Retrieval as a service sees it.

use super::RetrievedContent;
use crate::error::{Error, Result};
use crate::invocation::TurnContext;
use crate::message::UserMessage;
use async_trait::async_trait;
use futures_util::future::BoxFuture;
use std::sync::Arc;

/// Finds what the model is told beside what the user said, and tells it.
///
/// A service calls [`retrieve`](Self::retrieve), lets its input guardrails see what was said and what was
/// found, and then calls [`inject`](Self::inject) with what they made of the message. What `inject`
/// returns is sent; what is remembered is the user's own message, unless the service is told otherwise.
///
/// [`DefaultRetrievalAugmentor`](super::DefaultRetrievalAugmentor) is put together from parts. Implement
/// the trait for what cannot be.
///
/// # Examples
///
/// ```
/// use ai_services::message::{Content, UserMessage};
/// use ai_services::rag::{RetrievalAugmentor, Retrieved, RetrievedContent};
/// use ai_services::testing::ScriptedChatModel;
/// use ai_services::{Result, TurnContext, ai_service, async_trait};
///
/// /// Tells every model what is for lunch.
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
    /// What fits what the user said in this turn, best first.
    ///
    /// # Errors
    ///
    /// Whatever keeps it from searching. The call fails then.
    async fn retrieve(&self, turn: &TurnContext) -> Result<Retrieved>;

    /// The user's message with what was found. Not called if nothing was.
    ///
    /// # Errors
    ///
    /// If the message cannot be put together. The call fails then.
    fn inject(&self, message: &UserMessage, contents: &[RetrievedContent]) -> Result<UserMessage>;
}

// The inner future is handed on as it is: an async function would put it into a second box.
impl<A: RetrievalAugmentor + ?Sized> RetrievalAugmentor for Arc<A> {
    fn retrieve<'a, 'b, 'z>(&'a self, turn: &'b TurnContext) -> BoxFuture<'z, Result<Retrieved>>
    where
        'a: 'z,
        'b: 'z,
        Self: 'z,
    {
        A::retrieve(self, turn)
    }

    fn inject(&self, message: &UserMessage, contents: &[RetrievedContent]) -> Result<UserMessage> {
        A::inject(self, message, contents)
    }
}

/// What was found in a turn.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Retrieved {
    /// What the model is told, best first.
    pub contents: Vec<RetrievedContent>,
    /// Which retrievers failed and were passed over, so that something may be missing. One whose fallback
    /// answered is not among them; if all its fallbacks failed, they are as well.
    pub skipped: Vec<SkippedRetrieval>,
    /// How many contents were found beyond the limits of the augmentor. They are not among the others.
    pub left_out: usize,
}

impl Retrieved {
    /// This was found, and nobody failed.
    #[must_use]
    pub fn new(contents: impl IntoIterator<Item = RetrievedContent>) -> Self {
        Self { contents: contents.into_iter().collect(), ..Self::default() }
    }
}

/// A retriever that failed and was passed over, as its route allows.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SkippedRetrieval {
    /// The name of its route.
    pub route: Box<str>,
    /// What it was asked.
    pub query: Arc<str>,
    /// Why it failed.
    pub error: Arc<Error>,
}
