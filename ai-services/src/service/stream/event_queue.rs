//! The queue between a running call and its stream.

use crate::message::ToolCall;
use crate::model::{TokenUsage, ToolCallDelta};
use crate::rag::RetrievedContent;
use crate::tool::{ToolExecution, ToolProgress};
use ai_services_core::answer::StreamEvent;
use std::collections::VecDeque;
use std::future;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// Number of items after which reading from the model pauses. Each poll of a stream can take many
/// items without waking the call for each.
const CAPACITY: usize = 64;

/// An event of a call, whatever the type of its answer.
#[derive(Debug)]
pub(crate) enum StreamItem {
    Retrieved(Vec<RetrievedContent>),
    Text(String),
    Thinking(String),
    ToolCall(ToolCallDelta),
    ToolStarted(ToolCall),
    ToolProgressed(ToolCall, ToolProgress),
    ToolFinished(Box<ToolExecution>),
    Usage(TokenUsage),
    Restarted,
}

impl<T> From<StreamItem> for StreamEvent<T> {
    fn from(item: StreamItem) -> Self {
        match item {
            StreamItem::Retrieved(contents) => Self::Retrieved(contents),
            StreamItem::Text(text) => Self::Text(text),
            StreamItem::Thinking(text) => Self::Thinking(text),
            StreamItem::ToolCall(delta) => Self::ToolCall(delta),
            StreamItem::ToolStarted(call) => Self::ToolStarted(call),
            StreamItem::ToolProgressed(call, progress) => Self::ToolProgressed { call, progress },
            StreamItem::ToolFinished(execution) => Self::ToolFinished(execution),
            StreamItem::Usage(usage) => Self::Usage(usage),
            StreamItem::Restarted => Self::Restarted,
        }
    }
}

/// A bounded queue between a call and its stream. Both run on one task.
#[derive(Debug, Default)]
pub(crate) struct EventQueue(Mutex<Queue>);

#[derive(Debug, Default)]
struct Queue {
    items: VecDeque<StreamItem>,
    /// An item that is added together with the next one.
    announced: Option<StreamItem>,
    /// The call, while it waits for room or for an empty queue.
    sender: Option<Waker>,
    /// `true` once an item was added.
    is_used: bool,
}

impl EventQueue {
    /// Adds an item as soon as there is room.
    pub(crate) async fn send(&self, item: StreamItem) {
        let mut item = Some(item);
        future::poll_fn(|cx| self.poll_send(&mut item, cx)).await;
    }

    fn poll_send(&self, item: &mut Option<StreamItem>, cx: &mut Context<'_>) -> Poll<()> {
        let mut queue = self.lock();
        if queue.items.len() >= CAPACITY {
            queue.sender = Some(cx.waker().clone());
            return Poll::Pending;
        }
        queue.add(item.take());
        Poll::Ready(())
    }

    /// Adds an item even if there is no room. For items with another bound, such as tool calls.
    pub(crate) fn push(&self, item: StreamItem) {
        self.lock().add(Some(item));
    }

    /// Adds an item together with the next one. The item is never delivered if none follows.
    pub(crate) fn announce(&self, item: StreamItem) {
        self.lock().announced = Some(item);
    }

    /// Waits until the queue is empty. A stream takes all items, and polls the call again only after
    /// it has delivered them.
    pub(crate) async fn drained(&self) {
        future::poll_fn(|cx| {
            let mut queue = self.lock();
            if queue.items.is_empty() {
                return Poll::Ready(());
            }
            queue.sender = Some(cx.waker().clone());
            Poll::Pending
        })
        .await;
    }

    /// Moves all items into `items`, which must be empty, and wakes the call.
    pub(crate) fn take(&self, items: &mut VecDeque<StreamItem>) {
        let sender = {
            let mut queue = self.lock();
            std::mem::swap(&mut queue.items, items);
            queue.sender.take()
        };
        // Waking runs code of the executor, which must not hold the lock.
        if let Some(sender) = sender {
            sender.wake();
        }
    }

    /// Returns `true` once an item was added.
    pub(crate) fn is_used(&self) -> bool {
        self.lock().is_used
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    fn add(&mut self, item: Option<StreamItem>) {
        self.is_used = true;
        self.items.extend(self.announced.take());
        self.items.extend(item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;
    use std::pin::pin;

    fn take(queue: &EventQueue) -> usize {
        let mut items = VecDeque::new();
        queue.take(&mut items);
        items.len()
    }

    #[test]
    fn sender_waits_while_the_queue_is_full() {
        let queue = EventQueue::default();
        assert!(!queue.is_used());
        for _ in 0..CAPACITY {
            assert!(queue.send(StreamItem::Restarted).now_or_never().is_some());
        }
        let mut late = pin!(queue.send(StreamItem::Restarted));
        assert!(late.as_mut().now_or_never().is_none());
        assert_eq!(take(&queue), CAPACITY);
        assert!(late.now_or_never().is_some());
        assert!(queue.is_used());
        assert_eq!((take(&queue), take(&queue)), (1, 0));
    }

    #[test]
    fn queue_is_drained_when_its_items_are_taken() {
        let queue = EventQueue::default();
        assert!(queue.drained().now_or_never().is_some());
        queue.push(StreamItem::Restarted);
        let mut drained = pin!(queue.drained());
        assert!(drained.as_mut().now_or_never().is_none());
        assert_eq!(take(&queue), 1);
        assert!(drained.now_or_never().is_some());
    }

    #[test]
    fn announced_item_comes_with_the_next_one() {
        let queue = EventQueue::default();
        queue.announce(StreamItem::Retrieved(Vec::new()));
        assert!(!queue.is_used());
        assert_eq!(take(&queue), 0);
        queue.push(StreamItem::Restarted);
        let mut items = VecDeque::new();
        queue.take(&mut items);
        assert!(matches!(
            items.make_contiguous(),
            [StreamItem::Retrieved(_), StreamItem::Restarted]
        ));
    }

    #[test]
    fn push_never_waits() {
        let queue = EventQueue::default();
        for _ in 0..=CAPACITY {
            queue.push(StreamItem::Restarted);
        }
        assert_eq!(take(&queue), CAPACITY + 1);
    }
}
