//! Adding contents to the user's message.

mod contents;
mod default;

pub(super) use contents::numbered_with_metadata;
pub use default::{DefaultContentInjector, DefaultContentInjectorBuilder};

use super::RetrievedContent;
use crate::error::Result;
use crate::forward::forward_through_arc;
use crate::message::UserMessage;

/// Adds retrieved contents to the user's message.
///
/// # Examples
///
/// ```
/// use ai_services::message::{Content, UserMessage};
/// use ai_services::rag::{ContentInjector, RetrievedContent};
///
/// /// Adds every content as a separate part of the message.
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
    /// Returns the message with the contents added. There is at least one content.
    ///
    /// # Errors
    ///
    /// Return an error if the message cannot be built; the call then fails.
    fn inject(&self, message: &UserMessage, contents: &[RetrievedContent]) -> Result<UserMessage>;
}

forward_through_arc! {
    ContentInjector {
        fn inject(&self, message: &UserMessage, contents: &[RetrievedContent]) -> Result<UserMessage>;
    }
}
