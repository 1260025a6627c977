//! Work on its way to a thread of the store, and its outcome on the way back.

use super::fault::Fault;
use rusqlite::Connection;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tokio::sync::{mpsc, oneshot};

/// What a thread of the store is told.
pub(super) enum Message {
    Task(Box<dyn Task>),
    /// Ends the thread.
    Close,
}

/// Something to do within a transaction that the thread begins and ends.
pub(super) trait Task: Send {
    /// Whether somebody still waits for it. What nobody waits for is not begun.
    fn is_wanted(&self) -> bool;

    /// Does it and says whether it succeeded. Done a second time if the transaction was lost.
    fn run(&mut self, connection: &Connection) -> bool;

    /// Takes note that the transaction was lost. A reason of its own is kept.
    fn fail(&mut self, fault: Fault);

    /// Tells the caller.
    fn answer(self: Box<Self>);
}

struct Pending<T, F> {
    work: F,
    outcome: Result<T, Fault>,
    caller: oneshot::Sender<Result<T, Fault>>,
}

impl<T, F> Task for Pending<T, F>
where
    T: Send,
    F: FnMut(&Connection) -> Result<T, Fault> + Send,
{
    fn is_wanted(&self) -> bool {
        !self.caller.is_closed()
    }

    fn run(&mut self, connection: &Connection) -> bool {
        // After a panic the transaction is rolled back; nothing else outlives it.
        let done = catch_unwind(AssertUnwindSafe(|| (self.work)(connection)));
        self.outcome = done.unwrap_or(Err(Fault::Panicked));
        self.outcome.is_ok()
    }

    fn fail(&mut self, fault: Fault) {
        if matches!(self.outcome, Ok(_) | Err(Fault::Closed)) {
            self.outcome = Err(fault);
        }
    }

    fn answer(self: Box<Self>) {
        // The caller may have gone meanwhile.
        let _ = self.caller.send(self.outcome);
    }
}

/// Has the work done by whoever receives from `thread`.
pub(super) async fn ask<T: Send + 'static>(
    thread: &mpsc::Sender<Message>,
    work: impl FnMut(&Connection) -> Result<T, Fault> + Send + 'static,
) -> Result<T, Fault> {
    let (caller, outcome) = oneshot::channel();
    let task = Pending { work, outcome: Err(Fault::Closed), caller };
    thread.send(Message::Task(Box::new(task))).await.map_err(|_| Fault::Closed)?;
    outcome.await.unwrap_or(Err(Fault::Closed))
}

#[cfg(test)]
mod tests {
    use super::super::SqliteChatMemoryStore;
    use ai_services_core::ErrorKind;
    use ai_services_core::memory::{ChatMemoryStore, MemoryId};
    use ai_services_core::message::ChatMessage;
    use futures_util::future::join3;

    #[tokio::test]
    async fn panic_is_an_error_of_its_own_change_only() {
        let store = SqliteChatMemoryStore::in_memory().await.unwrap();
        let [klaus, anna] = ["klaus", "anna"].map(MemoryId::from);
        let messages = [ChatMessage::user("Hello!")];
        let (before, panicked, after) = join3(
            store.update_messages(&klaus, &messages),
            store.write::<()>("change", Some(&klaus), |connection| {
                connection.execute("DELETE FROM message", [])?;
                panic!("on purpose")
            }),
            store.update_messages(&anna, &messages),
        )
        .await;
        before.unwrap();
        after.unwrap();
        let error = panicked.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Store);
        assert!(error.to_string().contains("panicked; nothing was changed"), "{error}");
        for id in [klaus, anna] {
            assert_eq!(store.get_messages(&id).await.unwrap(), messages);
        }
    }
}
