//! Additions to and evictions from a conversation before they are committed.

use super::{Limit, SystemPosition};
use crate::error::Result;
use crate::memory::Change;
use crate::message::{ChatMessage, Messages};
use std::ops::Range;

/// The future content of a stored list, without copying the list.
///
/// Positions count through the stored list and then through the added messages. The draft contains
/// the message at `first`, if set, and all messages from `next` on: messages are evicted from the
/// front, except for a system message that has reached the front.
pub(super) struct Draft<'a, L> {
    limit: &'a L,
    maximum: usize,
    stored: Messages,
    added: Vec<ChatMessage>,
    first: Option<usize>,
    next: usize,
    /// The total size of the contained messages, without the overhead.
    total: usize,
    change: Kind,
}

/// The kind of change that the store has to make.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// No change: no message was added.
    Unchanged,
    /// Evictions and appends.
    Advance,
    /// A replacement of all messages, because `stored` was rebuilt.
    Replace,
}

impl<'a, L: Limit> Draft<'a, L> {
    pub(super) fn new(limit: &'a L, maximum: usize, stored: Messages) -> Result<Self> {
        let total = limit.total(&stored)?;
        let (added, first, next, change) = (Vec::new(), None, 0, Kind::Unchanged);
        let mut draft = Self { limit, maximum, stored, added, first, next, total, change };
        draft.pin_system();
        Ok(draft)
    }

    /// Removes the oldest messages until the rest fits.
    ///
    /// A system message at the front stays, even if it is too large on its own. The results after a
    /// removed message with tool calls are removed with it.
    pub(super) fn evict(&mut self) -> Result<()> {
        while self.total.saturating_add(self.limit.overhead()) > self.maximum {
            let Some(oldest) = self.at(self.next).cloned() else { break };
            self.remove_next(&oldest)?;
            if !oldest.tool_calls().is_empty() {
                while let Some(result) = self.at(self.next).filter(|next| next.is_tool_result()) {
                    self.remove_next(&result.clone())?;
                }
            }
            self.pin_system();
        }
        Ok(())
    }

    /// Adds a message at the end. A system message replaces an earlier one; an equal one is
    /// ignored.
    pub(super) fn add(&mut self, message: ChatMessage, position: SystemPosition) -> Result<()> {
        if !message.is_system() {
            return self.push(message);
        }
        let old = self.positions().find(|at| self.at(*at).is_some_and(ChatMessage::is_system));
        if let Some(old) = old.and_then(|at| self.at(at)) {
            if *old == message {
                return Ok(());
            }
            self.total = self.total.saturating_sub(self.limit.size_of(old)?);
        }
        if old.is_some() && old == self.first && position == SystemPosition::WhereAdded {
            self.first = None;
            self.pin_system();
            return self.push(message);
        }
        if old.is_none() && (position == SystemPosition::WhereAdded || self.is_empty()) {
            return self.push(message);
        }
        self.rewrite(old, message, position)
    }

    /// Returns the change for a store whose list has this version, if a change is necessary.
    pub(super) fn into_change(self, version: Option<u64>) -> Option<Change> {
        match (self.change, self.evicted()) {
            (Kind::Unchanged, _) => None,
            (Kind::Advance, Some(evicted)) => {
                Some(Change::advance(version, evicted, self.into_added()))
            }
            _ => Some(Change::replace(version, self.iter().cloned().collect())),
        }
    }

    /// Returns the contained messages.
    pub(super) fn into_vec(self) -> Vec<ChatMessage> {
        self.iter().cloned().collect()
    }

    /// Returns the added messages that are contained.
    fn into_added(mut self) -> Vec<ChatMessage> {
        let stored = self.stored.len();
        let evicted = self.next.saturating_sub(stored).min(self.added.len());
        if evicted > 0 {
            let first = self.first.and_then(|first| first.checked_sub(stored));
            let first = first.and_then(|first| self.added.get(first)).cloned();
            self.added.splice(..evicted, first);
        }
        self.added
    }

    /// Returns the range that was removed from the stored list, if it is a single range.
    fn evicted(&self) -> Option<Range<usize>> {
        let stored = self.stored.len();
        let end = self.next.min(stored);
        match self.first.filter(|first| *first < stored) {
            None => Some(0..end),
            Some(0) => Some(1..end.max(1)),
            Some(first) if first + 1 == end => Some(0..first),
            Some(_) => None,
        }
    }

    /// Protects a system message at the front from eviction.
    fn pin_system(&mut self) {
        if self.first.is_none() && self.at(self.next).is_some_and(ChatMessage::is_system) {
            self.first = Some(self.next);
            self.next += 1;
        }
    }

    fn push(&mut self, message: ChatMessage) -> Result<()> {
        self.total = self.total.saturating_add(self.limit.size_of(&message)?);
        self.added.push(message);
        if self.change == Kind::Unchanged {
            self.change = Kind::Advance;
        }
        self.pin_system();
        Ok(())
    }

    fn remove_next(&mut self, message: &ChatMessage) -> Result<()> {
        self.total = self.total.saturating_sub(self.limit.size_of(message)?);
        self.next += 1;
        Ok(())
    }

    /// Rebuilds the list with the system message, where appending is not enough.
    fn rewrite(
        &mut self,
        old: Option<usize>,
        message: ChatMessage,
        position: SystemPosition,
    ) -> Result<()> {
        let total = self.total.saturating_add(self.limit.size_of(&message)?);
        let kept = self.positions().filter(|at| Some(*at) != old);
        let mut list: Vec<_> = kept.filter_map(|at| self.at(at).cloned()).collect();
        match position {
            SystemPosition::First => list.insert(0, message),
            SystemPosition::WhereAdded => list.push(message),
        }
        self.stored = list.into();
        self.added.clear();
        (self.first, self.next, self.total, self.change) = (None, 0, total, Kind::Replace);
        self.pin_system();
        Ok(())
    }

    fn at(&self, position: usize) -> Option<&ChatMessage> {
        match position.checked_sub(self.stored.len()) {
            None => self.stored.get(position),
            Some(position) => self.added.get(position),
        }
    }

    fn positions(&self) -> impl Iterator<Item = usize> + use<L> {
        self.first.into_iter().chain(self.next..self.end())
    }

    fn end(&self) -> usize {
        self.stored.len() + self.added.len()
    }

    fn iter(&self) -> impl Iterator<Item = &ChatMessage> {
        self.positions().filter_map(|at| self.at(at))
    }

    fn is_empty(&self) -> bool {
        self.positions().next().is_none()
    }
}
