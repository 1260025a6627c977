//! Data of running tools that outlive the process.

use super::error::ToolError;
use crate::approval::Awaited;
use tokio::sync::{mpsc, oneshot};

/// The sender of a running tool.
#[derive(Clone, Debug)]
pub(super) struct Checkpoints(mpsc::Sender<Checkpoint>);

/// The data of a running tool, which the call records.
#[derive(Debug)]
pub(super) struct Checkpoint {
    pub(super) awaited: Awaited,
    recorded: oneshot::Sender<()>,
}

impl Checkpoints {
    /// Creates a sender with its receiver, which belongs to the call.
    pub(super) fn new() -> (Self, mpsc::Receiver<Checkpoint>) {
        let (sender, receiver) = mpsc::channel(1);
        (Self(sender), receiver)
    }

    /// Waits until the call has recorded the data.
    ///
    /// # Errors
    ///
    /// Fails if the call cannot record it. The tool is stopped then.
    pub(super) async fn record(&self, awaited: Awaited) -> Result<(), ToolError> {
        let (recorded, is_recorded) = oneshot::channel();
        let sent = self.0.send(Checkpoint { awaited, recorded }).await;
        let failed = || ToolError::concealed("the state of the call was not recorded");
        sent.map_err(|_| failed())?;
        is_recorded.await.map_err(|_| failed())
    }
}

impl Checkpoint {
    /// Lets the tool go on.
    pub(super) fn confirm(self) {
        // A tool that stopped waiting does not need it.
        let _ = self.recorded.send(());
    }
}
