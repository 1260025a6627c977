//! The trait of estimators, and a wrapper that counts each message only once.

use crate::error::Result;
use crate::forward::forward_through_arc;
use crate::message::{ChatMessage, Messages};
use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Counts or estimates the tokens of texts and messages.
///
/// The crate contains the [`ApproximateCounter`](super::ApproximateCounter), which needs no data,
/// and `TiktokenCounter` (feature `tiktoken`), which is exact for OpenAI's models. The count of a
/// message must not depend on its position. The additional tokens of a list belong to
/// [`request_overhead`](Self::request_overhead). Counting must not block for long: split long
/// texts.
///
/// # Examples
///
/// An estimator of your own, with counts that are cached with the messages:
///
/// ```
/// use ai_services::memory::{EstimatorId, TokenCountEstimator};
/// use ai_services::message::ChatMessage;
///
/// struct Words(EstimatorId);
///
/// impl TokenCountEstimator for Words {
///     fn count_text(&self, text: &str) -> usize {
///         text.split_whitespace().count()
///     }
///
///     fn count_message(&self, message: &ChatMessage) -> ai_services::Result<usize> {
///         Ok(message.text().map_or(0, |text| self.count_text(text)))
///     }
///
///     fn identity(&self) -> Option<EstimatorId> {
///         Some(self.0)
///     }
/// }
///
/// let words = Words(EstimatorId::unique());
/// let messages = [ChatMessage::user("one two"), ChatMessage::ai("three")];
/// assert_eq!(words.count_messages(&messages)?, 3);
/// # Ok::<(), ai_services::Error>(())
/// ```
#[doc(alias = "Tokenizer")]
pub trait TokenCountEstimator: Send + Sync {
    /// Returns the number of tokens of a text.
    #[doc(alias = "estimateTokenCountInText")]
    fn count_text(&self, text: &str) -> usize;

    /// Returns the number of tokens of a message, including its own overhead.
    ///
    /// # Errors
    ///
    /// Fails if the message has parts that cannot be counted.
    #[doc(alias = "estimateTokenCountInMessage")]
    fn count_message(&self, message: &ChatMessage) -> Result<usize>;

    /// Returns the number of tokens that every list of messages costs in addition. Default: 0.
    fn request_overhead(&self) -> usize {
        0
    }

    /// Returns the number of tokens of a list: its messages and the overhead.
    ///
    /// # Errors
    ///
    /// Fails if one of the messages cannot be counted.
    #[doc(alias = "estimateTokenCountInMessages")]
    fn count_messages<'a, M>(&self, messages: M) -> Result<usize>
    where
        M: IntoIterator<Item = &'a ChatMessage>,
        Self: Sized,
    {
        let mut total = self.request_overhead();
        for message in messages {
            total = total.saturating_add(self.count_message(message)?);
        }
        Ok(total)
    }

    /// Returns the identity of the estimator, under which the count of a message is cached with the
    /// message.
    ///
    /// Estimators with the same identity must return the same counts. Without an identity, each
    /// window has its own cached counts, and a window that is created for each use counts all
    /// messages again.
    fn identity(&self) -> Option<EstimatorId> {
        None
    }
}

forward_through_arc! {
    TokenCountEstimator {
        fn count_text(&self, text: &str) -> usize;
        fn count_message(&self, message: &ChatMessage) -> Result<usize>;
        fn request_overhead(&self) -> usize;
        fn identity(&self) -> Option<EstimatorId>;
    }
}

/// The identity of an estimator within a process.
///
/// # Examples
///
/// ```
/// use ai_services::memory::EstimatorId;
///
/// let id = EstimatorId::unique();
/// assert_eq!(id, id);
/// assert_ne!(id, EstimatorId::unique());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EstimatorId(Option<NonZeroU32>);

/// The first number that [`EstimatorId::unique`] returns. The numbers below are reserved for this
/// crate.
const FIRST_UNIQUE: u32 = 64;

static NEXT_ID: AtomicU32 = AtomicU32::new(FIRST_UNIQUE);

impl EstimatorId {
    /// Returns an id that no other estimator has.
    ///
    /// Create it once and reuse it: about four billion ids exist. After the last one, counts are no
    /// longer cached.
    #[must_use]
    pub fn unique() -> Self {
        let next = NEXT_ID.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_add(1));
        Self(next.ok().and_then(NonZeroU32::new))
    }

    /// Returns the id of an estimator of this crate. All instances of this estimator return the
    /// same counts.
    pub(super) const fn own(number: u8) -> Self {
        assert!((number as u32) < FIRST_UNIQUE);
        Self(NonZeroU32::new(number as u32))
    }
}

/// An estimator that counts each message once and caches the count with the message.
#[derive(Clone)]
pub(crate) struct Counted {
    estimator: Arc<dyn TokenCountEstimator>,
    id: Option<NonZeroU32>,
}

impl Counted {
    pub(crate) fn new(estimator: impl TokenCountEstimator + 'static) -> Self {
        let id = estimator.identity().unwrap_or_else(EstimatorId::unique).0;
        Self { estimator: Arc::new(estimator), id }
    }

    /// Returns the number of tokens of a message.
    pub(crate) fn message(&self, message: &ChatMessage) -> Result<usize> {
        let Some(id) = self.id.map(NonZeroU32::get) else {
            return self.estimator.count_message(message);
        };
        if let Some(count) = message.cached().tokens(id) {
            return Ok(count as usize);
        }
        let count = self.estimator.count_message(message)?;
        if let Ok(count) = u32::try_from(count) {
            message.cached().keep_tokens(id, count);
        }
        Ok(count)
    }

    /// Returns the number of tokens of all messages, without the overhead. Does not read the
    /// messages if the sum is cached with the list. Changes of the list by counted messages keep
    /// the sum valid.
    pub(crate) fn list(&self, messages: &Messages) -> Result<usize> {
        let id = self.id.map(NonZeroU32::get);
        if let Some(sum) = id.and_then(|id| messages.tokens(id)) {
            return Ok(sum as usize);
        }
        let mut sum = 0_usize;
        for message in messages {
            sum = sum.saturating_add(self.message(message)?);
        }
        if let (Some(id), Ok(sum)) = (id, u32::try_from(sum)) {
            messages.keep_tokens(id, sum);
        }
        Ok(sum)
    }

    /// Returns the number of tokens of a text.
    pub(crate) fn text(&self, text: &str) -> usize {
        self.estimator.count_text(text)
    }

    pub(crate) fn overhead(&self) -> usize {
        self.estimator.request_overhead()
    }
}

impl fmt::Debug for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Counted").field("id", &self.id).finish_non_exhaustive()
    }
}
