//! What is computed from a message once and kept with it.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// The bytes of a value in one dialect. The first dialect that asks is kept, others encode anew.
#[derive(Default)]
pub(crate) struct Encoded(OnceLock<Encoding>);

struct Encoding {
    dialect: &'static str,
    bytes: Box<[u8]>,
}

impl Encoded {
    /// The kept bytes, or what `encode` makes.
    pub(crate) fn get_or_encode(
        &self,
        dialect: &'static str,
        encode: impl Fn() -> Vec<u8>,
    ) -> Cow<'_, [u8]> {
        let kept = self.0.get_or_init(|| Encoding { dialect, bytes: encode().into_boxed_slice() });
        match kept.dialect == dialect {
            true => Cow::Borrowed(&*kept.bytes),
            false => Cow::Owned(encode()),
        }
    }
}

impl fmt::Debug for Encoded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Encoded").field(&self.0.get().map(|kept| kept.dialect)).finish()
    }
}

/// How many tokens one estimator counted.
#[derive(Debug, Default)]
pub(super) struct TokenCount {
    /// Estimator in the upper half, count in the lower; zero when unknown.
    kept: AtomicU64,
}

impl TokenCount {
    /// The count of `estimator`. Estimators are numbered from 1.
    pub(super) fn of(&self, estimator: u32) -> Option<u32> {
        let kept = self.kept.load(Ordering::Relaxed);
        (kept >> 32 == u64::from(estimator)).then_some(kept as u32)
    }

    /// Keeps the count of `estimator`, replacing another's.
    pub(super) fn keep(&self, estimator: u32, count: u32) {
        self.kept.store(u64::from(estimator) << 32 | u64::from(count), Ordering::Relaxed);
    }

    /// Changes the count, whosever it is, to what `change` makes of it; forgets it for `None`.
    pub(super) fn change(&mut self, change: impl FnOnce(u32, u32) -> Option<u32>) {
        let kept = *self.kept.get_mut();
        let (estimator, count) = ((kept >> 32) as u32, kept as u32);
        if estimator != 0 {
            let changed = change(estimator, count);
            *self.kept.get_mut() =
                changed.map_or(0, |count| u64::from(estimator) << 32 | u64::from(count));
        }
    }
}

impl Clone for TokenCount {
    fn clone(&self) -> Self {
        Self { kept: self.kept.load(Ordering::Relaxed).into() }
    }
}

/// The encoded form and the token count of one message.
#[derive(Debug, Default)]
pub(crate) struct Cached {
    pub(crate) encoded: Encoded,
    tokens: TokenCount,
}

impl Cached {
    /// The count that `estimator` left here. Estimators are numbered from 1.
    pub(crate) fn tokens(&self, estimator: u32) -> Option<u32> {
        self.tokens.of(estimator)
    }

    /// Keeps the count of `estimator`, replacing another's.
    pub(crate) fn keep_tokens(&self, estimator: u32, count: u32) {
        self.tokens.keep(estimator, count);
    }
}

/// Immutable data with what is computed from it, behind one pointer.
pub(super) struct Shared<T>(Arc<(T, Cached)>);

impl<T> Shared<T> {
    pub(super) fn new(data: T) -> Self {
        Self(Arc::new((data, Cached::default())))
    }

    pub(super) fn cached(&self) -> &Cached {
        &self.0.1
    }
}

impl<T: Clone> Shared<T> {
    /// The data, copied only if somebody else holds it too.
    pub(super) fn into_data(self) -> T {
        match Arc::try_unwrap(self.0) {
            Ok((data, _)) => data,
            Err(shared) => shared.0.clone(),
        }
    }
}

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0.0
    }
}

impl<T: fmt::Debug> fmt::Debug for Shared<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.0.fmt(f)
    }
}

impl<T: PartialEq> PartialEq for Shared<T> {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.0 == other.0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_dialect_is_kept() {
        let encoded = Encoded::default();
        assert_eq!(encoded.get_or_encode("a", || vec![1]).as_ref(), [1]);
        assert_eq!(encoded.get_or_encode("a", || vec![2]).as_ref(), [1]);
        assert_eq!(encoded.get_or_encode("b", || vec![3]).as_ref(), [3]);
    }

    #[test]
    fn count_belongs_to_its_estimator() {
        let cached = Cached::default();
        assert_eq!(cached.tokens(1), None);
        cached.keep_tokens(1, 7);
        assert_eq!((cached.tokens(1), cached.tokens(2)), (Some(7), None));
    }
}
