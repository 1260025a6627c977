use super::{ConcurrentCalls, ConversationLock, Conversations};
use crate::Result;
use crate::memory::{ChatMemory, InMemoryChatMemoryStore, MemoryId, MessageWindowChatMemory};
use futures_util::FutureExt;
use std::sync::Arc;

fn memory(
    id: &MemoryId,
    store: Option<Arc<InMemoryChatMemoryStore>>,
) -> Result<Arc<dyn ChatMemory>> {
    let builder = MessageWindowChatMemory::builder().id(id).max_messages(9);
    Ok(match store {
        Some(store) => Arc::new(builder.store(store).build()?),
        None => Arc::new(builder.build()?),
    })
}

async fn queue(conversations: &Conversations, id: &MemoryId) -> ConversationLock {
    conversations.lock(id, ConcurrentCalls::Queue).await.unwrap()
}

#[tokio::test]
async fn idle_id_with_a_store_takes_no_space() {
    let conversations = Conversations::new(None);
    let id = MemoryId::from("ann");
    let lock = queue(&conversations, &id).await;
    lock.memory(|| memory(&id, Some(Arc::default()))).unwrap();
    assert_eq!(conversations.len(), 1);
    drop(lock);
    assert_eq!(conversations.len(), 0);
}

#[tokio::test]
async fn memory_without_a_store_is_provided_once() {
    let conversations = Conversations::new(None);
    let id = MemoryId::from("ann");
    let first = queue(&conversations, &id).await.memory(|| memory(&id, None)).unwrap();
    let second = queue(&conversations, &id).await.memory(|| memory(&id, None)).unwrap();
    assert!(Arc::ptr_eq(&first, &second));
    assert!(conversations.evict(&id));
    assert_eq!(conversations.len(), 0);
}

#[tokio::test]
async fn dropped_waiter_leaves_the_queue() {
    let conversations = Conversations::new(None);
    let id = MemoryId::from("ann");
    let lock = queue(&conversations, &id).await;
    let mut waiting = Box::pin(conversations.lock(&id, ConcurrentCalls::Queue));
    assert!((&mut waiting).now_or_never().is_none());
    drop(waiting);
    drop(lock);
    assert_eq!(conversations.len(), 0);
}
