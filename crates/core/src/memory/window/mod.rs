//! The common part of the message window and the token window, generic over the unit of size.

mod draft;
mod home;
mod maximum;

pub(super) use maximum::Maximum;
pub use maximum::{MaximumGiven, NoMaximum};

use super::{
    ChatMemoryStore, CompletedTurn, ConversationJournal, LeaseRequest, MemoryId, Residence,
    SingleSlotChatMemoryStore, Snapshot, Summarizer,
};
use crate::error::{Error, ErrorKind, Result};
use crate::message::{ChatMessage, Messages};
use draft::Draft;
use home::Home;
use std::fmt;
use std::sync::Arc;

/// The id of a window that is built without an id: `default`.
pub const DEFAULT_ID: &str = "default";

/// Maximum number of attempts of a standalone `add` in case of conflicts with other writers.
const ATTEMPTS: usize = 8;

/// The unit and the maximum of a window.
pub(super) trait Limit: Send + Sync {
    /// Returns the maximum size in units. Evaluated at each use.
    fn maximum(&self, id: &MemoryId) -> Result<usize>;

    /// Returns the size of one message.
    fn size_of(&self, message: &ChatMessage) -> Result<usize>;

    /// Returns the size of all messages, without the overhead.
    fn total(&self, messages: &Messages) -> Result<usize>;

    /// Returns the size that every list has in addition to its messages.
    fn overhead(&self) -> usize;

    /// Returns the minimum size of an answer.
    fn smallest_answer(&self) -> usize;

    /// Creates the error of a turn that is too large on its own.
    fn too_large(&self, needed: usize, maximum: usize) -> Error;
}

/// The position of an added system message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum SystemPosition {
    #[default]
    WhereAdded,
    First,
}

/// The settings that the builders of both windows share.
#[derive(Default)]
pub(super) struct WindowParts {
    pub(super) id: Option<MemoryId>,
    pub(super) store: Option<Arc<dyn ChatMemoryStore>>,
    pub(super) system_position: SystemPosition,
    pub(super) summarizer: Option<Summarizer>,
}

/// A conversation, limited by a window.
pub(super) struct Window<L> {
    id: MemoryId,
    home: Home,
    system_position: SystemPosition,
    summarizer: Option<Summarizer>,
    limit: L,
}

impl<L: Limit> Window<L> {
    /// Fails if the current maximum of the limit is invalid.
    pub(super) fn new(parts: WindowParts, limit: L) -> Result<Self> {
        let window = Self::unchecked(parts, limit);
        window.limit.maximum(&window.id)?;
        Ok(window)
    }

    pub(super) fn unchecked(parts: WindowParts, limit: L) -> Self {
        let id = parts.id.unwrap_or_else(|| MemoryId::from(DEFAULT_ID));
        let home = match parts.store {
            Some(store) => Home::Store(store),
            None => Home::Window(Arc::new(SingleSlotChatMemoryStore::new(&id))),
        };
        let WindowParts { system_position, summarizer, .. } = parts;
        Self { id, home, system_position, summarizer, limit }
    }

    pub(super) fn id(&self) -> &MemoryId {
        &self.id
    }

    pub(super) fn residence(&self) -> Residence {
        self.home.residence()
    }

    pub(super) fn summarizer(&self) -> Option<&Summarizer> {
        self.summarizer.as_ref()
    }

    pub(super) fn lease_request(&self) -> Option<LeaseRequest> {
        self.home.lease_request(&self.id)
    }

    pub(super) fn journal(&self) -> Option<ConversationJournal> {
        self.home.journal(&self.id)
    }

    pub(super) async fn messages(&self) -> Result<Vec<ChatMessage>> {
        let maximum = self.limit.maximum(&self.id)?;
        let stored = self.home.load(&self.id).await?.into_messages();
        let mut draft = Draft::new(&self.limit, maximum, stored)?;
        draft.evict()?;
        Ok(draft.into_vec())
    }

    /// Adds messages one after the other, with one load and at most one commit.
    pub(super) async fn add_all(&self, messages: &[ChatMessage]) -> Result<()> {
        if messages.is_empty() {
            return Ok(());
        }
        let mut attempt = 1;
        loop {
            match self.try_add_all(messages).await {
                Err(error) if error.kind() == ErrorKind::Conflict && attempt < ATTEMPTS => {
                    attempt += 1;
                }
                done => return done,
            }
        }
    }

    async fn try_add_all(&self, messages: &[ChatMessage]) -> Result<()> {
        let maximum = self.limit.maximum(&self.id)?;
        let snapshot = self.home.load(&self.id).await?;
        let version = snapshot.version();
        let mut draft = Draft::new(&self.limit, maximum, snapshot.into_messages())?;
        draft.evict()?;
        for message in messages {
            draft.add(message.clone(), self.system_position)?;
            draft.evict()?;
        }
        match draft.into_change(version) {
            Some(change) => self.home.commit(&self.id, change).await,
            None => Ok(()),
        }
    }

    pub(super) async fn set(&self, messages: Vec<ChatMessage>) -> Result<()> {
        let maximum = self.limit.maximum(&self.id)?;
        let mut draft = Draft::new(&self.limit, maximum, messages.into())?;
        draft.evict()?;
        self.home.replace(&self.id, draft.into_vec()).await
    }

    pub(super) async fn clear(&self) -> Result<()> {
        self.home.clear(&self.id).await
    }

    pub(super) async fn load(&self) -> Result<Snapshot> {
        self.home.load(&self.id).await
    }

    pub(super) async fn commit(&self, turn: CompletedTurn) -> Result<()> {
        let skipped = self.fit(turn.snapshot(), turn.system(), turn.messages())?;
        // With a summarizer, the next turn folds the messages that no longer fit.
        let evict = if self.summarizer.is_some() { 0 } else { skipped };
        self.home.commit(&self.id, turn.into_change(evict)).await
    }

    /// Returns the number of oldest messages of the history to evict. A summary comes last.
    ///
    /// Takes one step for each message of the turn and for each evicted message. The remaining
    /// messages cost no steps.
    pub(super) fn fit(
        &self,
        snapshot: &Snapshot,
        system: Option<&ChatMessage>,
        turn: &[ChatMessage],
    ) -> Result<usize> {
        let limit = &self.limit;
        let maximum = limit.maximum(&self.id)?;
        let mut total = limit.overhead();
        for message in system.into_iter().chain(turn) {
            total = total.saturating_add(limit.size_of(message)?);
        }
        // The answer belongs to the turn as well. Fail now if it cannot fit, before the model call
        // costs money.
        let needed = if turn.last().is_some_and(is_answer) {
            total
        } else {
            total.saturating_add(limit.smallest_answer())
        };
        if needed > maximum {
            return Err(limit.too_large(needed, maximum));
        }
        total = total.saturating_add(limit.total(snapshot.messages())?);
        if let Some(stored) = snapshot.system() {
            total = total.saturating_sub(limit.size_of(stored)?);
        }
        let mut evict = 0;
        for message in snapshot.evictable() {
            if total <= maximum && message.is_user() {
                break;
            }
            total = total.saturating_sub(limit.size_of(message)?);
            evict += 1;
        }
        Ok(evict)
    }
}

impl<L: fmt::Debug> Window<L> {
    /// Prints the window with the name of the type that wraps it.
    pub(super) fn fmt_as(&self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(name)
            .field("id", &self.id)
            .field("limit", &self.limit)
            .field("residence", &self.home.residence())
            .field("system_position", &self.system_position)
            .field("summarizer", &self.summarizer)
            .finish_non_exhaustive()
    }
}

fn is_answer(message: &ChatMessage) -> bool {
    message.as_ai().is_some_and(|ai| ai.tool_calls().is_empty())
}

/// Implements [`ChatMemory`](super::ChatMemory) for a type with a [`Window`] as its first field.
macro_rules! chat_memory_by_window {
    ($memory:ty) => {
        #[async_trait::async_trait]
        impl $crate::memory::ChatMemory for $memory {
            fn id(&self) -> &$crate::memory::MemoryId {
                self.0.id()
            }

            async fn messages(&self) -> $crate::error::Result<Vec<$crate::message::ChatMessage>> {
                self.0.messages().await
            }

            async fn add(
                &self,
                message: $crate::message::ChatMessage,
            ) -> $crate::error::Result<()> {
                self.0.add_all(std::slice::from_ref(&message)).await
            }

            async fn add_all(
                &self,
                messages: Vec<$crate::message::ChatMessage>,
            ) -> $crate::error::Result<()> {
                self.0.add_all(&messages).await
            }

            async fn set(
                &self,
                messages: Vec<$crate::message::ChatMessage>,
            ) -> $crate::error::Result<()> {
                self.0.set(messages).await
            }

            async fn clear(&self) -> $crate::error::Result<()> {
                self.0.clear().await
            }

            // An `async fn` that awaits that of the window would hold all values twice.
            fn load<'a, 'future>(
                &'a self,
            ) -> futures_util::future::BoxFuture<
                'future,
                $crate::error::Result<$crate::memory::Snapshot>,
            >
            where
                'a: 'future,
                Self: 'future,
            {
                $crate::boxed(|| self.0.load())
            }

            fn fit(
                &self,
                snapshot: &$crate::memory::Snapshot,
                system: Option<&$crate::message::ChatMessage>,
                turn: &[$crate::message::ChatMessage],
            ) -> $crate::error::Result<usize> {
                self.0.fit(snapshot, system, turn)
            }

            fn summarizer(&self) -> Option<&$crate::memory::Summarizer> {
                self.0.summarizer()
            }

            fn commit<'a, 'future>(
                &'a self,
                turn: $crate::memory::CompletedTurn,
            ) -> futures_util::future::BoxFuture<'future, $crate::error::Result<()>>
            where
                'a: 'future,
                Self: 'future,
            {
                $crate::boxed(|| self.0.commit(turn))
            }

            fn lease_request(&self) -> Option<$crate::memory::LeaseRequest> {
                self.0.lease_request()
            }

            fn journal(&self) -> Option<$crate::memory::ConversationJournal> {
                self.0.journal()
            }

            fn residence(&self) -> $crate::memory::Residence {
                self.0.residence()
            }
        }
    };
}
pub(super) use chat_memory_by_window;

#[cfg(test)]
mod reference_tests;
#[cfg(test)]
mod summary_tests;
#[cfg(test)]
mod tests;
