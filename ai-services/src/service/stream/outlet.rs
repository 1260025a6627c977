//! Where a running call puts what it has to tell, until somebody takes it.

use crate::invocation::ToolExecution;
use crate::message::ToolCall;
use crate::model::{TokenUsage, ToolCallDelta};
use crate::rag::RetrievedContent;
use std::collections::VecDeque;
use std::future;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// How many pieces wait before the model is read on. Each poll of a stream can then hand over many
/// without waking the whole call for each.
const CAPACITY: usize = 64;

/// Something that happened on the way to the answer, whatever its type.
#[derive(Debug)]
pub(crate) enum Progress {
    Retrieved(Vec<RetrievedContent>),
    Text(String),
    Thinking(String),
    ToolCall(ToolCallDelta),
    ToolStarted(ToolCall),
    ToolFinished(Box<ToolExecution>),
    Usage(TokenUsage),
    Restarted,
}

/// A bounded queue between a call and its stream, both on one task.
#[derive(Debug, Default)]
pub(crate) struct Outlet(Mutex<Queue>);

#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<Progress>,
    /// What is put in before anything else.
    announced: Option<Progress>,
    /// Who waits until it is empty again.
    sender: Option<Waker>,
    /// Whether anything was ever put in.
    is_used: bool,
}

impl Outlet {
    /// Puts a piece in once there is room for it.
    pub(crate) async fn send(&self, progress: Progress) {
        let mut progress = Some(progress);
        future::poll_fn(|cx| self.poll_send(&mut progress, cx)).await;
    }

    fn poll_send(&self, progress: &mut Option<Progress>, cx: &mut Context<'_>) -> Poll<()> {
        let mut queue = self.lock();
        if queue.waiting.len() >= CAPACITY {
            queue.sender = Some(cx.waker().clone());
            return Poll::Pending;
        }
        queue.put(progress.take());
        Poll::Ready(())
    }

    /// Puts a piece in even if there is no room. For what is bounded otherwise, such as tool calls.
    pub(crate) fn push(&self, progress: Progress) {
        self.lock().put(Some(progress));
    }

    /// Puts a piece in as soon as there is another one to follow it: what nothing follows is not told.
    pub(crate) fn announce(&self, progress: Progress) {
        self.lock().announced = Some(progress);
    }

    /// Waits until everything was taken. Who takes pieces asks for more only when none of them is left.
    pub(crate) async fn emptied(&self) {
        future::poll_fn(|cx| {
            let mut queue = self.lock();
            if queue.waiting.is_empty() {
                return Poll::Ready(());
            }
            queue.sender = Some(cx.waker().clone());
            Poll::Pending
        })
        .await;
    }

    /// Takes all pieces, in exchange for an empty queue.
    pub(crate) fn take(&self, taken: &mut VecDeque<Progress>) {
        let mut queue = self.lock();
        std::mem::swap(&mut queue.waiting, taken);
        if let Some(sender) = queue.sender.take() {
            sender.wake();
        }
    }

    /// Whether anything was ever put in.
    pub(crate) fn is_used(&self) -> bool {
        self.lock().is_used
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    fn put(&mut self, progress: Option<Progress>) {
        self.is_used = true;
        self.waiting.extend(self.announced.take());
        self.waiting.extend(progress);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;
    use std::pin::pin;

    fn taken(outlet: &Outlet) -> usize {
        let mut taken = VecDeque::new();
        outlet.take(&mut taken);
        taken.len()
    }

    #[test]
    fn full_outlet_makes_the_sender_wait() {
        let outlet = Outlet::default();
        assert!(!outlet.is_used());
        for _ in 0..CAPACITY {
            assert!(outlet.send(Progress::Restarted).now_or_never().is_some());
        }
        let mut late = pin!(outlet.send(Progress::Restarted));
        assert!(late.as_mut().now_or_never().is_none());
        assert_eq!(taken(&outlet), CAPACITY);
        assert!(late.now_or_never().is_some());
        assert!(outlet.is_used());
        assert_eq!((taken(&outlet), taken(&outlet)), (1, 0));
    }

    #[test]
    fn outlet_is_emptied_when_its_pieces_are_taken() {
        let outlet = Outlet::default();
        assert!(outlet.emptied().now_or_never().is_some());
        outlet.push(Progress::Restarted);
        let mut emptied = pin!(outlet.emptied());
        assert!(emptied.as_mut().now_or_never().is_none());
        assert_eq!(taken(&outlet), 1);
        assert!(emptied.now_or_never().is_some());
    }

    #[test]
    fn what_is_announced_comes_with_what_follows_it() {
        let outlet = Outlet::default();
        outlet.announce(Progress::Retrieved(Vec::new()));
        assert!(!outlet.is_used());
        assert_eq!(taken(&outlet), 0);
        outlet.push(Progress::Restarted);
        let mut waiting = VecDeque::new();
        outlet.take(&mut waiting);
        assert!(matches!(waiting.make_contiguous(), [Progress::Retrieved(_), Progress::Restarted]));
    }

    #[test]
    fn push_never_waits() {
        let outlet = Outlet::default();
        for _ in 0..=CAPACITY {
            outlet.push(Progress::Restarted);
        }
        assert_eq!(taken(&outlet), CAPACITY + 1);
    }
}
