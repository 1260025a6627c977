//! A conversation as a shared list.

use super::ChatMessage;
use std::collections::{VecDeque, vec_deque};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A list of messages, oldest first, that is cheap to clone.
///
/// Clones share one list. A list that nobody else holds is changed in place; a shared one is copied
/// before the change, so a clone is a snapshot.
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
    /// Whether the list is known to consist of complete turns.
    complete_turns: AtomicBool,
}

impl Clone for Inner {
    fn clone(&self) -> Self {
        let complete_turns = self.complete_turns.load(Ordering::Relaxed).into();
        Self { list: self.list.clone(), complete_turns }
    }
}

impl Messages {
    /// An empty list.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// How many messages there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.list.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.list.is_empty()
    }

    /// The message at `index`, counted from the oldest.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<&ChatMessage> {
        self.0.list.get(index)
    }

    /// The newest message.
    #[must_use]
    pub fn last(&self) -> Option<&ChatMessage> {
        self.0.list.back()
    }

    /// The messages, oldest first.
    #[must_use]
    pub fn iter(&self) -> Iter<'_> {
        Iter(self.0.list.iter())
    }

    /// The messages from `start` on.
    pub(crate) fn iter_from(&self, start: usize) -> Iter<'_> {
        Iter(self.0.list.range(start.min(self.len())..))
    }

    /// The messages as a vector. Copies pointers only.
    #[must_use]
    pub fn to_vec(&self) -> Vec<ChatMessage> {
        self.iter().cloned().collect()
    }

    /// Adds a message.
    pub fn push(&mut self, message: ChatMessage) {
        let inner = Arc::make_mut(&mut self.0);
        *inner.complete_turns.get_mut() = false;
        inner.list.push_back(message);
    }

    /// Removes a range of messages, counted from the oldest. Positions past the end are ignored.
    pub fn remove(&mut self, range: Range<usize>) {
        let range = range.start.min(self.len())..range.end.min(self.len());
        if range.is_empty() {
            return;
        }
        let inner = Arc::make_mut(&mut self.0);
        *inner.complete_turns.get_mut() = false;
        inner.list.drain(range);
    }

    /// Removes the messages in `evict` and adds a complete turn at the end. What was known to be
    /// complete turns before is so afterwards.
    pub(crate) fn advance(
        &mut self,
        evict: Range<usize>,
        turn: impl IntoIterator<Item = ChatMessage>,
    ) {
        let inner = Arc::make_mut(&mut self.0);
        let end = evict.end.min(inner.list.len());
        inner.list.drain(evict.start.min(end)..end);
        inner.list.extend(turn);
    }

    /// Whether the list is known to consist of complete turns.
    pub(crate) fn is_known_complete(&self) -> bool {
        self.0.complete_turns.load(Ordering::Relaxed)
    }

    /// Remembers, for all clones of this list, that it consists of complete turns.
    pub(crate) fn mark_complete(&self) {
        self.0.complete_turns.store(true, Ordering::Relaxed);
    }
}

impl FromIterator<ChatMessage> for Messages {
    fn from_iter<I: IntoIterator<Item = ChatMessage>>(messages: I) -> Self {
        Self(Arc::new(Inner {
            list: messages.into_iter().collect(),
            complete_turns: AtomicBool::new(false),
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
        inner.list.extend(messages);
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
    fn unshared_list_is_changed_in_place() {
        let mut messages = Messages::from(vec![ChatMessage::user("a"), ChatMessage::ai("b")]);
        messages.mark_complete();
        messages.advance(0..2, [ChatMessage::user("c"), ChatMessage::ai("d")]);
        assert!(messages.is_known_complete());
        assert_eq!(messages.to_vec(), [ChatMessage::user("c"), ChatMessage::ai("d")]);
        messages.push(ChatMessage::user("e"));
        assert!(!messages.is_known_complete());
    }

    #[test]
    fn removal_past_the_end_is_ignored() {
        let mut messages = Messages::from(vec![ChatMessage::user("a")]);
        messages.remove(1..9);
        assert_eq!(messages.len(), 1);
    }
}
