//! Values that are computed from a message once and cached with it.

use once_cell::race::OnceBox;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The encoded forms of a value, one for each dialect that asked for it: a linked list, because a
/// conversation rarely has more than two providers, and most messages need no form at all.
#[derive(Default)]
pub(crate) struct Encoded(OnceBox<Form>);

struct Form {
    dialect: &'static str,
    bytes: Box<[u8]>,
    next: Encoded,
}

impl Encoded {
    /// Returns the stored form of `dialect`, and stores the result of `encode` if there is none.
    pub(crate) fn get_or_encode(
        &self,
        dialect: &'static str,
        encode: impl Fn() -> Vec<u8>,
    ) -> &[u8] {
        let new = || {
            let bytes = encode().into_boxed_slice();
            Box::new(Form { dialect, bytes, next: Self::default() })
        };
        let mut form = self.0.get_or_init(new);
        // Another thread may store the form of another dialect first; the search then goes on there.
        while form.dialect != dialect {
            form = form.next.0.get_or_init(new);
        }
        &form.bytes
    }

    fn forms(&self) -> impl Iterator<Item = &Form> {
        std::iter::successors(self.0.get(), |form| form.next.0.get())
    }
}

impl fmt::Debug for Encoded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dialects = self.forms().map(|form| form.dialect);
        f.debug_tuple("Encoded").field(&dialects.collect::<Vec<_>>()).finish()
    }
}

/// The token count of one estimator, and the answer to one question about the text.
#[derive(Debug, Default)]
pub(super) struct TokenCount {
    /// From the upper end: 32 bits for the estimator, which is zero if the count is unknown; 2 bits for
    /// [`is_verbatim`](Cached::is_verbatim); 30 bits for the count.
    packed: AtomicU64,
}

const COUNT_BITS: u32 = 30;
const MAX_COUNT: u32 = (1 << COUNT_BITS) - 1;
const VERBATIM: u64 = 1 << COUNT_BITS;
const NOT_VERBATIM: u64 = VERBATIM << 1;

impl TokenCount {
    /// Returns the count by `estimator`. Estimators are numbered from 1.
    pub(super) fn of(&self, estimator: u32) -> Option<u32> {
        let packed = self.packed.load(Ordering::Relaxed);
        (packed >> 32 == u64::from(estimator)).then_some(packed as u32 & MAX_COUNT)
    }

    /// Stores the count by `estimator`, replacing the count by another one. Counts of a billion and more
    /// are not stored.
    pub(super) fn keep(&self, estimator: u32, count: u32) {
        let flags = self.packed.load(Ordering::Relaxed) & (VERBATIM | NOT_VERBATIM);
        self.packed.store(flags | pack(estimator, count), Ordering::Relaxed);
    }

    /// Replaces the stored count, of any estimator, with the result of `change`. Removes it on
    /// `None`.
    pub(super) fn change(&mut self, change: impl FnOnce(u32, u32) -> Option<u32>) {
        let packed = *self.packed.get_mut();
        let (estimator, count) = ((packed >> 32) as u32, packed as u32 & MAX_COUNT);
        if estimator != 0 {
            let changed = change(estimator, count).map_or(0, |count| pack(estimator, count));
            *self.packed.get_mut() = packed & (VERBATIM | NOT_VERBATIM) | changed;
        }
    }
}

fn pack(estimator: u32, count: u32) -> u64 {
    if count <= MAX_COUNT { u64::from(estimator) << 32 | u64::from(count) } else { 0 }
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

    /// Returns whether the text of the message is not blank and is the same within a JSON string. The
    /// text is read once.
    pub(super) fn is_verbatim(&self, text: &str) -> bool {
        let packed = &self.tokens.packed;
        match packed.load(Ordering::Relaxed) & (VERBATIM | NOT_VERBATIM) {
            0 => {
                let is_verbatim = !is_blank(text) && !has_escapes(text);
                let flag = if is_verbatim { VERBATIM } else { NOT_VERBATIM };
                packed.fetch_or(flag, Ordering::Relaxed);
                is_verbatim
            }
            flags => flags == VERBATIM,
        }
    }
}

fn is_blank(text: &str) -> bool {
    text.chars().all(char::is_whitespace)
}

/// Returns whether the text differs within a JSON string. Reads all bytes, because a loop that stops at the
/// first escape cannot be vectorized.
fn has_escapes(text: &str) -> bool {
    let is_escaped = |byte: u8| (byte < b' ') | (byte == b'"') | (byte == b'\\');
    text.bytes().fold(false, |has_escapes, byte| has_escapes | is_escaped(byte))
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
    fn cached_values_take_two_words() {
        assert_eq!(size_of::<Cached>(), 2 * size_of::<u64>());
    }

    #[test]
    fn text_is_verbatim_if_json_carries_it_unchanged() {
        for text in ["a", "Hi, é and 😀!", " a", "a/b\u{7f}"] {
            assert!(Cached::default().is_verbatim(text), "{text}");
            assert_eq!(serde_json::to_string(text).unwrap(), format!("\"{text}\""));
        }
        for text in ["", " ", "a\nb", "a\tb", "a\"b", "a\\b", "\u{0}", "\u{1f}"] {
            assert!(!Cached::default().is_verbatim(text), "{text:?}");
        }
    }

    #[test]
    fn count_and_text_do_not_disturb_each_other() {
        for (text, is_verbatim) in [("a", true), ("\n", false)] {
            let cached = Cached::default();
            cached.keep_tokens(1, MAX_COUNT);
            assert_eq!(cached.is_verbatim(text), is_verbatim);
            assert_eq!(cached.tokens(1), Some(MAX_COUNT));
            cached.keep_tokens(u32::MAX, 0);
            assert_eq!((cached.tokens(1), cached.tokens(u32::MAX)), (None, Some(0)));
            // The text is not read again.
            assert_eq!(cached.is_verbatim(""), is_verbatim);
            cached.keep_tokens(1, MAX_COUNT + 1);
            assert_eq!(cached.tokens(1), None);
        }
    }

    #[test]
    fn count_belongs_to_its_estimator() {
        let cached = Cached::default();
        assert_eq!(cached.tokens(1), None);
        cached.keep_tokens(1, 7);
        assert_eq!((cached.tokens(1), cached.tokens(2)), (Some(7), None));
    }
}
