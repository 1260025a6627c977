//! Telling the model what was found.

mod contents;
mod default;

pub(super) use contents::numbered;
pub use default::{DefaultContentInjector, DefaultContentInjectorBuilder};

use super::RetrievedContent;
use crate::error::Result;
use crate::message::UserMessage;
use std::sync::Arc;

/// Puts what was found into the user's message.
///
/// # Examples
///
/// ```
/// use ai_services::message::{Content, UserMessage};
/// use ai_services::rag::{ContentInjector, RetrievedContent};
///
/// /// Every content is a part of the message of its own.
/// struct Parts;
///
/// impl ContentInjector for Parts {
///     fn inject(
///         &self,
///         message: &UserMessage,
///         contents: &[RetrievedContent],
///     ) -> ai_services::Result<UserMessage> {
///         let found = contents.iter().map(|content| Content::from(content.segment.text()));
///         let said = message.contents().iter().cloned();
///         Ok(UserMessage::from_contents(found.chain(said)))
///     }
/// }
/// ```
pub trait ContentInjector: Send + Sync {
    /// The message with what was found, which is at least one content.
    ///
    /// # Errors
    ///
    /// If the message cannot be put together. The call fails then.
    fn inject(&self, message: &UserMessage, contents: &[RetrievedContent]) -> Result<UserMessage>;
}

impl<I: ContentInjector + ?Sized> ContentInjector for Arc<I> {
    fn inject(&self, message: &UserMessage, contents: &[RetrievedContent]) -> Result<UserMessage> {
        I::inject(self, message, contents)
    }
}
