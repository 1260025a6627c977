//! The copy of an answer in a cache.

use crate::error::Result;
use async_trait::async_trait;
use std::fmt;
use std::sync::Arc;

/// The copy of an answer in a cache, which is discarded if the answer is rejected.
///
/// It is not part of the answer: answers are equal whether or not a cache has a copy.
#[doc(hidden)]
#[derive(Clone)]
pub struct CachedCopy(Arc<dyn DiscardCopy>);

/// Discards the copy of one answer.
#[doc(hidden)]
#[async_trait]
pub trait DiscardCopy: Send + Sync {
    /// Removes the copy from its cache.
    ///
    /// # Errors
    ///
    /// Return an error if the cache cannot be written, and its policy is to fail.
    async fn discard(&self) -> Result<()>;
}

impl CachedCopy {
    pub(crate) fn new(copy: impl DiscardCopy + 'static) -> Self {
        Self(Arc::new(copy))
    }

    /// Removes the copy from its cache.
    ///
    /// # Errors
    ///
    /// Returns the error of the cache, if its policy is to fail.
    pub async fn discard(&self) -> Result<()> {
        self.0.discard().await
    }

    /// Returns the outcome of checking an answer, after its copy was removed if the check failed. If the
    /// copy cannot be removed either, the first error counts.
    ///
    /// # Errors
    ///
    /// Returns the error of the check.
    pub async fn discard_on_error<T>(copy: Option<Self>, checked: Result<T>) -> Result<T> {
        if let (Err(_), Some(copy)) = (&checked, copy) {
            drop(copy.discard().await);
        }
        checked
    }
}

impl PartialEq for CachedCopy {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl fmt::Debug for CachedCopy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CachedCopy")
    }
}
