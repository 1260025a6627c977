//! The listener that collects records.

use super::draft::Draft;
use super::file::RecordFile;
use super::turn_record::TurnRecord;
use crate::event::{Call, CallId, Event};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Collects the events of each call into a [`TurnRecord`].
///
/// One recorder may listen to many services. The records of nested calls name their outer call. A record is complete
/// at the end of its call; it shares messages with the call instead of copying them.
///
/// # Examples
///
/// ```
/// use ai_services::ai_service;
/// use ai_services::record::{StepKind, TurnOutcome, TurnRecord, TurnRecorder};
/// use ai_services::testing::ScriptedChatModel;
/// use std::sync::mpsc;
///
/// #[ai_service]
/// trait Assistant {
///     async fn chat(&self, text: &str) -> ai_services::Result<String>;
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> ai_services::Result<()> {
/// let (sender, receiver) = mpsc::channel::<TurnRecord>();
/// let recorder = TurnRecorder::new(move |record| drop(sender.send(record)));
/// let assistant = AssistantService::builder()
///     .chat_model(ScriptedChatModel::replies(["Hello!"]))
///     .listener(recorder.listener())
///     .build()?;
/// assistant.chat("Hi!").await?;
///
/// let record = receiver.recv().unwrap();
/// assert_eq!(record.outcome, TurnOutcome::Completed);
/// assert!(matches!(record.steps[0].kind, StepKind::RequestIssued(_)));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct TurnRecorder(Arc<Inner>);

struct Inner {
    /// The records of the calls that run.
    drafts: Mutex<HashMap<CallId, Arc<Mutex<Draft>>>>,
    sink: Box<dyn Fn(TurnRecord) + Send + Sync>,
}

impl TurnRecorder {
    /// Creates a recorder that passes each record to a function.
    ///
    /// The function runs on the task of the call, and should return quickly.
    #[must_use]
    pub fn new(sink: impl Fn(TurnRecord) + Send + Sync + 'static) -> Self {
        Self(Arc::new(Inner { drafts: Mutex::default(), sink: Box::new(sink) }))
    }

    /// Creates a recorder that writes each record to a file.
    #[must_use]
    pub fn to_file(file: RecordFile) -> Self {
        Self::new(move |record| file.write(record))
    }

    /// Returns a listener for `AiServiceBuilder::listener`.
    pub fn listener(&self) -> impl Fn(&Call<'_>, &Event<'_>) + Send + Sync + use<> {
        let inner = Arc::clone(&self.0);
        move |call, event| inner.observe(call, event)
    }
}

impl Inner {
    fn observe(&self, call: &Call<'_>, event: &Event<'_>) {
        match event {
            Event::Started => {
                let draft = Arc::new(Mutex::new(Draft::new(call)));
                lock(&self.drafts).insert(call.id, draft);
            }
            Event::Completed { .. }
            | Event::Suspended { .. }
            | Event::Failed { .. }
            | Event::Cancelled => {
                let draft = lock(&self.drafts).remove(&call.id);
                let draft = draft.and_then(Arc::into_inner);
                if let Some(draft) = draft {
                    let draft = draft.into_inner().unwrap_or_else(PoisonError::into_inner);
                    (self.sink)(draft.finish(event));
                }
            }
            _ => {
                let draft = lock(&self.drafts).get(&call.id).cloned();
                if let Some(draft) = draft {
                    lock(&draft).add(event);
                }
            }
        }
    }
}

/// Locks a mutex. A panic elsewhere leaves the data usable.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for TurnRecorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let running = lock(&self.0.drafts).len();
        f.debug_struct("TurnRecorder").field("running", &running).finish_non_exhaustive()
    }
}
