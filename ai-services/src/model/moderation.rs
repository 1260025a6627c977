//! Models that judge content.

use crate::error::Result;
use crate::message::UserMessage;
use async_trait::async_trait;
use futures_util::future::BoxFuture;
use std::sync::Arc;

/// A model that judges whether text violates a content policy.
///
/// A method marked `#[moderate]` has its user message judged beside the first call of the chat
/// model. The verdict is awaited before any tool runs and before anything is remembered or
/// returned. With `#[moderate(answer)]` it is the answer that is judged, before anything of it is told.
///
/// # Examples
///
/// ```
/// use ai_services::model::{Moderation, ModerationModel};
///
/// /// Objects to shouting.
/// struct Quiet;
///
/// #[ai_services::async_trait]
/// impl ModerationModel for Quiet {
///     async fn moderate(&self, text: &str) -> ai_services::Result<Moderation> {
///         let shouts = text.contains("!!!").then_some(("shouting", 0.9));
///         Ok(Moderation::flagged(shouts))
///     }
/// }
/// ```
#[async_trait]
pub trait ModerationModel: Send + Sync {
    /// Judges a text.
    ///
    /// # Errors
    ///
    /// Whatever keeps the model from judging. The call then fails: text is never let through
    /// unjudged.
    async fn moderate(&self, text: &str) -> Result<Moderation>;

    /// Judges what a person said, which may have several parts.
    ///
    /// By default the texts are judged in one piece, joined by line breaks, and everything else is
    /// **not** judged: images, recordings, videos, documents. A message without text passes. Models that
    /// look at more say so.
    ///
    /// # Errors
    ///
    /// As [`moderate`](Self::moderate).
    async fn moderate_message(&self, message: &UserMessage) -> Result<Moderation> {
        match message.joined_text() {
            Some(text) => self.moderate(&text).await,
            None => Ok(Moderation::passed()),
        }
    }

    /// The name of the model for events and traces, for example `omni-moderation-latest`.
    fn name(&self) -> &str {
        "unknown"
    }
}

// The inner future is handed on as it is: an async function would put it into a second box.
impl<M: ModerationModel + ?Sized> ModerationModel for Arc<M> {
    fn moderate<'a, 'b, 'z>(&'a self, text: &'b str) -> BoxFuture<'z, Result<Moderation>>
    where
        'a: 'z,
        'b: 'z,
        Self: 'z,
    {
        M::moderate(self, text)
    }

    fn moderate_message<'a, 'b, 'z>(
        &'a self,
        message: &'b UserMessage,
    ) -> BoxFuture<'z, Result<Moderation>>
    where
        'a: 'z,
        'b: 'z,
        Self: 'z,
    {
        M::moderate_message(self, message)
    }

    fn name(&self) -> &str {
        M::name(self)
    }
}

/// The verdict of a [`ModerationModel`]; the detail of an
/// [`ErrorKind::Moderation`](crate::ErrorKind::Moderation) error.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Moderation {
    /// The violated categories with their scores between 0 and 1. Empty: nothing to object to.
    pub violations: Vec<(Box<str>, f64)>,
}

impl Moderation {
    /// Nothing to object to.
    #[must_use]
    pub fn passed() -> Self {
        Self::default()
    }

    /// Flagged for these categories, with scores between 0 and 1.
    #[must_use]
    pub fn flagged<C: Into<Box<str>>>(violations: impl IntoIterator<Item = (C, f64)>) -> Self {
        let violations = violations.into_iter().map(|(category, score)| (category.into(), score));
        Self { violations: violations.collect() }
    }

    /// Whether the text violates the policy.
    #[must_use]
    pub fn is_flagged(&self) -> bool {
        !self.violations.is_empty()
    }
}

impl std::fmt::Display for Moderation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if !self.is_flagged() {
            return f.write_str("nothing to object to");
        }
        let categories: Vec<&str> =
            self.violations.iter().map(|(category, _)| &**category).collect();
        write!(f, "flagged for {}", categories.join(", "))
    }
}

impl std::error::Error for Moderation {}
