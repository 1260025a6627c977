//! Values that are computed from a message once and cached with it.

use once_cell::race::OnceBox;
use std::fmt;
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// The encoded forms of a value, one for each dialect that asked for it.
///
/// The form of the first dialect is stored in place. Further forms are a linked list, which is a
/// single pointer until a second dialect asks: a conversation rarely has more than two providers.
#[derive(Default)]
pub(crate) struct Encoded(OnceLock<Form>);

struct Form {
    dialect: &'static str,
    bytes: Box<[u8]>,
    /// The form of another dialect. `OnceLock<Box<Form>>` would be twice as large.
    next: OnceBox<Self>,
}

impl Form {
    fn new(dialect: &'static str, bytes: Vec<u8>) -> Self {
        Self { dialect, bytes: bytes.into_boxed_slice(), next: OnceBox::new() }
    }
}

impl Encoded {
    /// Returns the stored form of `dialect`, and stores the result of `encode` if there is none.
    pub(crate) fn get_or_encode(
        &self,
        dialect: &'static str,
        encode: impl Fn() -> Vec<u8>,
    ) -> &[u8] {
        let mut form = self.0.get_or_init(|| Form::new(dialect, encode()));
        // Another thread may store the form of another dialect first; the search then goes on there.
        while form.dialect != dialect {
            form = form.next.get_or_init(|| Box::new(Form::new(dialect, encode())));
        }
        &form.bytes
    }

    fn forms(&self) -> impl Iterator<Item = &Form> {
        std::iter::successors(self.0.get(), |form| form.next.get())
    }
}

impl fmt::Debug for Encoded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dialects = self.forms().map(|form| form.dialect);
        f.debug_tuple("Encoded").field(&dialects.collect::<Vec<_>>()).finish()
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
    use std::cell::Cell;

    #[test]
    fn form_of_every_dialect_is_encoded_once() {
        let (encoded, calls) = (Encoded::default(), Cell::new(0));
        for _ in 0..3 {
            for dialect in ["a", "b", "c"] {
                let form = encoded.get_or_encode(dialect, || {
                    calls.set(calls.get() + 1);
                    dialect.as_bytes().to_vec()
                });
                assert_eq!(form, dialect.as_bytes());
            }
        }
        assert_eq!(calls.get(), 3);
        assert_eq!(format!("{encoded:?}"), r#"Encoded(["a", "b", "c"])"#);
    }

    #[test]
    fn message_grows_by_one_pointer_for_further_dialects() {
        let one_dialect = size_of::<OnceLock<(&'static str, Box<[u8]>)>>();
        assert_eq!(size_of::<Encoded>(), one_dialect + size_of::<usize>());
    }

    #[test]
    fn count_belongs_to_its_estimator() {
        let cached = Cached::default();
        assert_eq!(cached.tokens(1), None);
        cached.keep_tokens(1, 7);
        assert_eq!((cached.tokens(1), cached.tokens(2)), (Some(7), None));
    }
}
