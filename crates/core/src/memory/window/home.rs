//! The place of a window's conversation.

use crate::error::Result;
use crate::memory::{
    Change, ChatMemoryStore, ConversationJournal, LeaseRequest, MemoryId, Residence,
    SingleSlotChatMemoryStore, Snapshot,
};
use crate::message::ChatMessage;
use futures_util::future::{Either, ready};
use std::future::Future;
use std::sync::Arc;

/// The place of a window's conversation.
pub(super) enum Home {
    /// The window itself: without the two futures that a store boxes in each turn.
    Window(Arc<SingleSlotChatMemoryStore>),
    Store(Arc<dyn ChatMemoryStore>),
}

impl Home {
    pub(super) fn residence(&self) -> Residence {
        match self {
            Self::Window(_) => Residence::Here,
            Self::Store(_) => Residence::Store,
        }
    }

    pub(super) fn lease_request(&self, id: &MemoryId) -> Option<LeaseRequest> {
        match self {
            Self::Window(_) => None,
            Self::Store(store) => LeaseRequest::new(store, id),
        }
    }

    pub(super) fn journal(&self, id: &MemoryId) -> Option<ConversationJournal> {
        match self {
            Self::Window(slot) => {
                let store: Arc<dyn ChatMemoryStore> = Arc::<SingleSlotChatMemoryStore>::clone(slot);
                ConversationJournal::new(&store, id)
            }
            Self::Store(store) => ConversationJournal::new(store, id),
        }
    }

    pub(super) fn load<'a>(&'a self, id: &'a MemoryId) -> impl Future<Output = Result<Snapshot>> {
        match self {
            Self::Window(slot) => Either::Left(ready(Ok(slot.snapshot()))),
            Self::Store(store) => Either::Right(store.load(id)),
        }
    }

    pub(super) fn commit<'a>(
        &'a self,
        id: &'a MemoryId,
        change: Change,
    ) -> impl Future<Output = Result<()>> {
        match self {
            Self::Window(slot) => Either::Left(ready(slot.apply(change))),
            Self::Store(store) => Either::Right(store.commit(id, change)),
        }
    }

    /// Replaces all messages.
    pub(super) async fn replace(&self, id: &MemoryId, messages: Vec<ChatMessage>) -> Result<()> {
        match self {
            Self::Window(slot) => slot.apply(Change::replace(None, messages.into())),
            Self::Store(store) => store.update_messages(id, &messages).await,
        }
    }

    pub(super) async fn clear(&self, id: &MemoryId) -> Result<()> {
        match self {
            Self::Window(slot) => slot.delete(),
            Self::Store(store) => store.delete_messages(id).await,
        }
    }
}
