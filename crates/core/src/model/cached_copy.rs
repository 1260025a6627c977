//! The copy of an answer in a cache.

use crate::error::{Error, Result};
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

    /// Removes the copy of an answer that failed a check, and returns the error of the check. If the copy
    /// cannot be removed either, the first error counts.
    pub async fn discard_after(copy: Option<Self>, error: Error) -> Error {
        if let Some(copy) = copy {
            drop(copy.discard().await);
        }
        error
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
