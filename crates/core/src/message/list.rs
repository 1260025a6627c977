//! A conversation as a shared list of messages.

use super::ChatMessage;
use super::cache::TokenCount;
use std::collections::{VecDeque, vec_deque};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A list of messages, oldest first, that is cheap to clone.
///
/// Clones share one list. A list without clones is changed in place. A list with clones is copied
/// before a change, so every clone is a snapshot.
///
/// # Examples
///
/// ```
/// use ai_services::message::{ChatMessage, Messages};
///
/// let mut messages: Messages = [ChatMessage::user("Hello!")].into_iter().collect();
/// let snapshot = messages.clone();
/// messages.push(ChatMessage::ai("Hi."));
/// assert_eq!((snapshot.len(), messages.len()), (1, 2));
/// ```
#[derive(Clone, Default)]
pub struct Messages(Arc<Inner>);

#[derive(Default)]
struct Inner {
    list: VecDeque<ChatMessage>,
    /// Set if the list is known to consist of complete turns.
    complete_turns: AtomicBool,
    /// The sum of the messages' token counts. Updated by every change.
    tokens: TokenCount,
}

impl Clone for Inner {
    fn clone(&self) -> Self {
        let complete_turns = self.complete_turns.load(Ordering::Relaxed).into();
        Self { list: self.list.clone(), complete_turns, tokens: self.tokens.clone() }
    }
}

impl Inner {
    /// Removes a range and appends messages. Positions past the end are ignored.
    fn splice(&mut self, remove: Range<usize>, add: impl IntoIterator<Item = ChatMessage>) {
        let end = remove.end.min(self.list.len());
        let start = remove.start.min(end);
        for message in self.list.range(start..end) {
            let tokens = |estimator| message.cached().tokens(estimator);
            self.tokens.change(|estimator, sum| sum.checked_sub(tokens(estimator)?));
        }
        self.list.drain(start..end);
        let add = add.into_iter();
        self.reserve(add.size_hint().0);
        self.list.extend(add.inspect(|message| {
            let tokens = |estimator| message.cached().tokens(estimator);
            self.tokens.change(|estimator, sum| sum.checked_add(tokens(estimator)?));
        }));
    }

    /// Reserves space for further messages, at least a quarter of the list. Doubling the capacity would
    /// waste more: for short messages, 5 % of the size of their texts.
    fn reserve(&mut self, further: usize) {
        if self.list.len().saturating_add(further) > self.list.capacity() {
            self.list.reserve_exact(further.max(self.list.len() / 4));
        }
    }
}

impl Messages {
    /// Creates an empty list.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the number of messages.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.list.len()
    }

    /// Returns `true` if the list is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.list.is_empty()
    }

    /// Returns the message at `index`, counted from the oldest.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<&ChatMessage> {
        self.0.list.get(index)
    }

    /// Returns the newest message.
    #[must_use]
    pub fn last(&self) -> Option<&ChatMessage> {
        self.0.list.back()
    }

    /// Returns an iterator over the messages, oldest first.
    #[must_use]
    pub fn iter(&self) -> Iter<'_> {
        Iter(self.0.list.iter())
    }

    /// Returns an iterator over the messages from index `start`.
    pub(crate) fn iter_from(&self, start: usize) -> Iter<'_> {
        Iter(self.0.list.range(start.min(self.len())..))
    }

    /// Copies the messages into a vector. Copies pointers only.
    #[must_use]
    pub fn to_vec(&self) -> Vec<ChatMessage> {
        self.iter().cloned().collect()
    }

    /// Appends a message.
    pub fn push(&mut self, message: ChatMessage) {
        let inner = Arc::make_mut(&mut self.0);
        *inner.complete_turns.get_mut() = false;
        inner.splice(0..0, [message]);
    }

    /// Removes a range of messages, counted from the oldest. Positions past the end are ignored.
    pub fn remove(&mut self, range: Range<usize>) {
        let range = range.start.min(self.len())..range.end.min(self.len());
        if range.is_empty() {
            return;
        }
        let inner = Arc::make_mut(&mut self.0);
        *inner.complete_turns.get_mut() = false;
        inner.splice(range, []);
    }

    /// Removes the messages in `evict` and appends a complete turn. A list that was known to
    /// consist of complete turns stays so.
    pub(crate) fn advance(
        &mut self,
        evict: Range<usize>,
        turn: impl IntoIterator<Item = ChatMessage>,
    ) {
        Arc::make_mut(&mut self.0).splice(evict, turn);
    }

    /// Returns `true` if the list is known to consist of complete turns.
    pub(crate) fn is_known_complete(&self) -> bool {
        self.0.complete_turns.load(Ordering::Relaxed)
    }

    /// Marks this list and all clones that share it as consisting of complete turns.
    pub(crate) fn mark_complete(&self) {
        self.0.complete_turns.store(true, Ordering::Relaxed);
    }

    /// Returns the sum of the counts by `estimator`, if it was cached and is still valid.
    pub(crate) fn tokens(&self, estimator: u32) -> Option<u32> {
        self.0.tokens.of(estimator)
    }

    /// Caches the sum of the counts by `estimator`, for all clones that share this list. The
    /// messages must have their own counts cached: later changes update the sum with them.
    pub(crate) fn keep_tokens(&self, estimator: u32, sum: u32) {
        self.0.tokens.keep(estimator, sum);
    }
}

impl FromIterator<ChatMessage> for Messages {
    fn from_iter<I: IntoIterator<Item = ChatMessage>>(messages: I) -> Self {
        Self(Arc::new(Inner {
            list: messages.into_iter().collect(),
            complete_turns: AtomicBool::new(false),
            tokens: TokenCount::default(),
        }))
    }
}

impl From<Vec<ChatMessage>> for Messages {
    fn from(messages: Vec<ChatMessage>) -> Self {
        messages.into_iter().collect()
    }
}

impl Extend<ChatMessage> for Messages {
    fn extend<I: IntoIterator<Item = ChatMessage>>(&mut self, messages: I) {
        let inner = Arc::make_mut(&mut self.0);
        *inner.complete_turns.get_mut() = false;
        inner.splice(0..0, messages);
    }
}

impl<'a> IntoIterator for &'a Messages {
    type Item = &'a ChatMessage;
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

impl PartialEq for Messages {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.list == other.0.list
    }
}

impl fmt::Debug for Messages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.list.fmt(f)
    }
}

/// Iterator over [`Messages`], oldest first.
#[derive(Clone, Debug)]
pub struct Iter<'a>(vec_deque::Iter<'a, ChatMessage>);

impl<'a> Iterator for Iter<'a> {
    type Item = &'a ChatMessage;

    fn next(&mut self) -> Option<&'a ChatMessage> {
        self.0.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl DoubleEndedIterator for Iter<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.0.next_back()
    }
}

impl ExactSizeIterator for Iter<'_> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unshared_list_stays_marked_as_complete() {
        let mut messages = Messages::from(vec![ChatMessage::user("a"), ChatMessage::ai("b")]);
        messages.mark_complete();
        messages.advance(0..2, [ChatMessage::user("c"), ChatMessage::ai("d")]);
        assert!(messages.is_known_complete());
        assert_eq!(messages.to_vec(), [ChatMessage::user("c"), ChatMessage::ai("d")]);
        messages.push(ChatMessage::user("e"));
        assert!(!messages.is_known_complete());
    }

    #[test]
    fn token_sum_follows_changes_while_counts_are_known() {
        let counted = |text: &str, tokens| {
            let message = ChatMessage::user(text);
            message.cached().keep_tokens(1, tokens);
            message
        };
        let mut messages = Messages::from(vec![counted("a", 1), counted("b", 2)]);
        assert_eq!(messages.tokens(1), None);
        messages.keep_tokens(1, 3);
        messages.advance(0..1, [counted("c", 4)]);
        assert_eq!((messages.tokens(1), messages.tokens(2)), (Some(6), None));
        messages.push(ChatMessage::user("without a count"));
        assert_eq!(messages.tokens(1), None);
    }

    #[test]
    fn list_reserves_a_quarter_of_its_length() {
        let mut messages = Messages::new();
        for length in 1..=100 {
            messages.advance(0..0, [ChatMessage::user("a")]);
            let capacity = messages.0.list.capacity();
            assert!(capacity <= length + length / 4, "{capacity} for {length}");
        }
    }

    #[test]
    fn removal_past_the_end_is_ignored() {
        let mut messages = Messages::from(vec![ChatMessage::user("a")]);
        messages.remove(1..9);
        assert_eq!(messages.len(), 1);
    }
}
