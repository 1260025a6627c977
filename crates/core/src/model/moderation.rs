//! Models that judge content by a policy.

use crate::error::Result;
use crate::forward::forward_through_arc;
use crate::message::UserMessage;
use async_trait::async_trait;

/// A model that judges whether a text violates a content policy.
///
/// With `#[moderate]`, the user message of a method is judged while the first request to the chat
/// model runs. The verdict is awaited before any tool runs, and before the turn is stored or the
/// answer returned. With `#[moderate(answer)]`, the answer is judged instead, before any part of it
/// is delivered.
///
/// Implementations carry `#[ai_services::async_trait]`. Without it, the compiler reports that "lifetime
/// parameters or bounds on method … do not match the trait declaration".
///
/// # Examples
///
/// ```
/// use ai_services::model::{Moderation, ModerationModel};
///
/// /// Rejects shouting.
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
    /// Return an error if the text cannot be judged. The call then fails (fail closed).
    async fn moderate(&self, text: &str) -> Result<Moderation>;

    /// Judges a user message, which may have several parts.
    ///
    /// The default implementation judges the texts as one, joined by line breaks. Everything else
    /// is **not** judged: images, audio, videos, documents. A message without text passes.
    /// Implementations that judge more document it.
    ///
    /// # Errors
    ///
    /// Same as [`moderate`](Self::moderate).
    async fn moderate_message(&self, message: &UserMessage) -> Result<Moderation> {
        match message.joined_text() {
            Some(text) => self.moderate(&text).await,
            None => Ok(Moderation::passed()),
        }
    }

    /// Returns the name of the model for events and traces, for example `omni-moderation-latest`.
    fn name(&self) -> &str {
        "unknown"
    }
}

forward_through_arc! {
    ModerationModel {
        async fn moderate<'a, 'b>(&'a self, text: &'b str) -> Result<Moderation>;
        async fn moderate_message<'a, 'b>(&'a self, message: &'b UserMessage) -> Result<Moderation>;
        fn name(&self) -> &str;
    }
}

/// The verdict of a [`ModerationModel`]. Errors of kind
/// [`ErrorKind::Moderation`](crate::ErrorKind::Moderation) have it as a detail.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Moderation {
    /// The violated categories with their scores between 0 and 1. Empty if the text passes.
    pub violations: Vec<(Box<str>, f64)>,
}

impl Moderation {
    /// Creates a verdict without violations.
    #[must_use]
    pub fn passed() -> Self {
        Self::default()
    }

    /// Creates a verdict with these violated categories and their scores between 0 and 1.
    #[must_use]
    pub fn flagged<C: Into<Box<str>>>(violations: impl IntoIterator<Item = (C, f64)>) -> Self {
        let violations = violations.into_iter().map(|(category, score)| (category.into(), score));
        Self { violations: violations.collect() }
    }

    /// Returns `true` if the text violates the policy.
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
