//! Tasks that are sent to a thread of the store, and their results.

use super::error_mapping::TaskFailure;
use rusqlite::Connection;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tokio::sync::{mpsc, oneshot};

/// A message to a thread of the store.
pub(super) enum WorkerMessage {
    /// Runs the task.
    Task(Box<dyn Task>),
    /// Ends the thread.
    Close,
}

/// Work to run in a transaction, which the thread begins and ends.
pub(super) trait Task: Send {
    /// Returns whether the caller still waits for the result. A task without a caller is not started.
    fn has_caller(&self) -> bool;

    /// Runs the work and returns whether it succeeded. Called again if the transaction failed.
    fn run(&mut self, connection: &Connection) -> bool;

    /// Records that the transaction failed. An error of the task itself is kept.
    fn fail(&mut self, failure: TaskFailure);

    /// Sends the result to the caller.
    fn send_result(self: Box<Self>);
}

/// A task with its work and the channel to its caller.
struct PendingTask<T, F> {
    work: F,
    outcome: Result<T, TaskFailure>,
    caller: oneshot::Sender<Result<T, TaskFailure>>,
}

impl<T, F> Task for PendingTask<T, F>
where
    T: Send,
    F: FnMut(&Connection) -> Result<T, TaskFailure> + Send,
{
    fn has_caller(&self) -> bool {
        !self.caller.is_closed()
    }

    fn run(&mut self, connection: &Connection) -> bool {
        // After a panic the transaction is rolled back, and no other state outlives it.
        let done = catch_unwind(AssertUnwindSafe(|| (self.work)(connection)));
        self.outcome = done.unwrap_or(Err(TaskFailure::Panicked));
        self.outcome.is_ok()
    }

    fn fail(&mut self, failure: TaskFailure) {
        if matches!(self.outcome, Ok(_) | Err(TaskFailure::Closed)) {
            self.outcome = Err(failure);
        }
    }

    fn send_result(self: Box<Self>) {
        // Fails if the caller has dropped its future.
        let _ = self.caller.send(self.outcome);
    }
}

/// Sends work to a thread and waits for the result.
pub(super) async fn ask<T: Send + 'static>(
    thread: &mpsc::Sender<WorkerMessage>,
    work: impl FnMut(&Connection) -> Result<T, TaskFailure> + Send + 'static,
) -> Result<T, TaskFailure> {
    let (caller, outcome) = oneshot::channel();
    let task = PendingTask { work, outcome: Err(TaskFailure::Closed), caller };
    thread.send(WorkerMessage::Task(Box::new(task))).await.map_err(|_| TaskFailure::Closed)?;
    outcome.await.unwrap_or(Err(TaskFailure::Closed))
}

#[cfg(test)]
mod tests {
    use super::super::SqliteChatMemoryStore;
    use ai_services_core::ErrorKind;
    use ai_services_core::memory::{ChatMemoryStore, MemoryId};
    use ai_services_core::message::ChatMessage;
    use futures_util::future::join3;

    #[tokio::test]
    async fn panic_fails_only_its_own_change() {
        let store = SqliteChatMemoryStore::in_memory().await.unwrap();
        let [klaus, anna] = ["klaus", "anna"].map(MemoryId::from);
        let messages = [ChatMessage::user("Hello!")];
        let (before, panicked, after) = join3(
            store.update_messages(&klaus, &messages),
            store.write::<()>("change", Some(&klaus), |connection| {
                connection.execute("DELETE FROM conversation", [])?;
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
