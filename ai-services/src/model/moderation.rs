//! Models that judge content.

use crate::error::Result;
use async_trait::async_trait;
use futures_util::future::BoxFuture;
use std::sync::Arc;

/// A model that judges whether text violates a content policy.
///
/// A method marked `#[moderate]` has its user message judged beside the first call of the chat
/// model. The verdict is awaited before any tool runs and before anything is remembered or
/// returned.
#[async_trait]
pub trait ModerationModel: Send + Sync {
    /// Judges a text.
    ///
    /// # Errors
    ///
    /// Whatever keeps the model from judging. The call then fails: text is never let through
    /// unjudged.
    async fn moderate(&self, text: &str) -> Result<Moderation>;
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
