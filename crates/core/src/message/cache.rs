//! Values that are computed from a message once and cached with it.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// A cached encoding of a value. Caches the first dialect that is requested; others are encoded on
/// every call.
#[derive(Default)]
pub(crate) struct Encoded(OnceLock<Encoding>);

struct Encoding {
    dialect: &'static str,
    bytes: Box<[u8]>,
}

impl Encoded {
    /// Returns the cached bytes of `dialect`, or the result of `encode`.
    pub(crate) fn get_or_encode(
        &self,
        dialect: &'static str,
        encode: impl Fn() -> Vec<u8>,
    ) -> Cow<'_, [u8]> {
        let cached =
            self.0.get_or_init(|| Encoding { dialect, bytes: encode().into_boxed_slice() });
        if cached.dialect == dialect { Cow::Borrowed(&*cached.bytes) } else { Cow::Owned(encode()) }
    }
}

impl fmt::Debug for Encoded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Encoded").field(&self.0.get().map(|cached| cached.dialect)).finish()
    }
}

/// The token count of one estimator.
#[derive(Debug, Default)]
pub(super) struct TokenCount {
    /// The estimator in the upper half, the count in the lower half. Zero if unknown.
    packed: AtomicU64,
}

impl TokenCount {
    /// Returns the count by `estimator`. Estimators are numbered from 1.
    pub(super) fn of(&self, estimator: u32) -> Option<u32> {
        let packed = self.packed.load(Ordering::Relaxed);
        (packed >> 32 == u64::from(estimator)).then_some(packed as u32)
    }

    /// Stores the count by `estimator`, replacing the count by another one.
    pub(super) fn keep(&self, estimator: u32, count: u32) {
        self.packed.store(u64::from(estimator) << 32 | u64::from(count), Ordering::Relaxed);
    }

    /// Replaces the stored count, of any estimator, with the result of `change`. Removes it on
    /// `None`.
    pub(super) fn change(&mut self, change: impl FnOnce(u32, u32) -> Option<u32>) {
        let packed = *self.packed.get_mut();
        let (estimator, count) = ((packed >> 32) as u32, packed as u32);
        if estimator != 0 {
            let changed = change(estimator, count);
            *self.packed.get_mut() =
                changed.map_or(0, |count| u64::from(estimator) << 32 | u64::from(count));
        }
    }
}

impl Clone for TokenCount {
    fn clone(&self) -> Self {
        Self { packed: self.packed.load(Ordering::Relaxed).into() }
    }
}

/// The cached encoding and token count of one message.
#[derive(Debug, Default)]
pub(crate) struct Cached {
    pub(crate) encoded: Encoded,
    tokens: TokenCount,
}

impl Cached {
    /// Returns the cached count by `estimator`. Estimators are numbered from 1.
    pub(crate) fn tokens(&self, estimator: u32) -> Option<u32> {
        self.tokens.of(estimator)
    }

    /// Caches the count by `estimator`, replacing the count by another one.
    pub(crate) fn keep_tokens(&self, estimator: u32, count: u32) {
        self.tokens.keep(estimator, count);
    }
}

/// Immutable data with the values cached for it, behind one pointer.
pub(super) struct SharedData<T>(Arc<(T, Cached)>);

impl<T> SharedData<T> {
    pub(super) fn new(data: T) -> Self {
        Self(Arc::new((data, Cached::default())))
    }

    pub(super) fn cached(&self) -> &Cached {
        &self.0.1
    }
}

impl<T: Clone> SharedData<T> {
    /// Returns the data. Copies it only if another clone shares it.
    pub(super) fn into_data(self) -> T {
        match Arc::try_unwrap(self.0) {
            Ok((data, _)) => data,
            Err(shared) => shared.0.clone(),
        }
    }
}

impl<T> Clone for SharedData<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Deref for SharedData<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0.0
    }
}

impl<T: fmt::Debug> fmt::Debug for SharedData<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.0.fmt(f)
    }
}

impl<T: PartialEq> PartialEq for SharedData<T> {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.0 == other.0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_dialect_is_cached() {
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
