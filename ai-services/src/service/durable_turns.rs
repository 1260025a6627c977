//! The settings of durable turns.

use std::time::Duration;

/// The settings of durable turns: a turn that was interrupted after it called tools is resumed.
///
/// The service keeps a journal of each turn that calls tools, in the store of the conversation. If the process ends
/// before the turn is stored, a later call, [`AiService::resume`](crate::AiService::resume) or
/// [`AiService::recover`](crate::AiService::recover) goes on from the journal: recorded answers are not requested
/// from the model again, recorded tool results are reused, and a tool whose result was lost is repeated or not
/// according to its [`Effect`](crate::tool::Effect). The [guide](crate::docs::durable) describes the guarantees.
///
/// A turn without tools writes no journal. Methods without a memory have no journal either.
///
/// # Examples
///
/// ```
/// use ai_services::memory::{InMemoryChatMemoryStore, MessageWindowChatMemory};
/// use ai_services::testing::ScriptedChatModel;
/// use ai_services::{DurableTurns, OnOpenTurn, ai_service};
///
/// #[ai_service]
/// trait Assistant {
///     async fn chat(&self, #[memory_id] user: &str, #[user_message] text: &str)
///         -> ai_services::Result<String>;
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> ai_services::Result<()> {
/// let store = InMemoryChatMemoryStore::new();
/// let assistant = AssistantService::builder()
///     .chat_model(ScriptedChatModel::replies(["Hello, Ann."]))
///     .chat_memory_provider(move |id| {
///         MessageWindowChatMemory::builder().id(id).max_messages(20).store(store.clone()).build()
///     })
///     .durable_turns(DurableTurns::new().on_open_turn(OnOpenTurn::Reject))
///     .build()?;
/// assert_eq!(assistant.chat("ann", "I am Ann.").await?, "Hello, Ann.");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[must_use]
pub struct DurableTurns {
    /// The reaction of a call to an open turn of its conversation. Default: [`OnOpenTurn::Resume`].
    pub on_open_turn: OnOpenTurn,
    /// Largest number of times that one turn is resumed. Default: 10.
    ///
    /// A turn that ends its process whenever it is resumed fails with
    /// [`ErrorKind::Busy`](crate::ErrorKind::Busy) after that. Its journal stays, until
    /// [`AiService::cancel_open_turn`](crate::AiService::cancel_open_turn) deletes it.
    pub max_resumes: usize,
    /// Time for the decision about tool calls that need [approval](crate::approval), and for answers to questions.
    /// Default: 30 days.
    ///
    /// A decision after it is not accepted. When the turn is resumed after it, the calls count as denied, and the
    /// questions as canceled.
    pub approval_expiry: Duration,
}

/// The reaction of a call to an open turn of its conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnOpenTurn {
    /// The open turn is resumed and stored, then the call runs its own turn. If the open turn waits for
    /// [approval](crate::approval), the call fails with
    /// [`ErrorKind::Suspended`](crate::ErrorKind::Suspended).
    #[default]
    Resume,
    /// The call fails with [`ErrorKind::Busy`](crate::ErrorKind::Busy).
    Reject,
    /// The open turn is cancelled: its journal is deleted and its conversation stays as it is. The effects of its
    /// tools remain, and the model does not learn of them.
    Cancel,
}

impl DurableTurns {
    /// Creates settings with the defaults.
    pub fn new() -> Self {
        let approval_expiry = Duration::from_secs(30 * 24 * 60 * 60);
        Self { on_open_turn: OnOpenTurn::default(), max_resumes: 10, approval_expiry }
    }

    /// Sets the reaction of a call to an open turn of its conversation.
    pub fn on_open_turn(mut self, on_open_turn: OnOpenTurn) -> Self {
        self.on_open_turn = on_open_turn;
        self
    }

    /// Sets the largest number of times that one turn is resumed.
    pub fn max_resumes(mut self, max_resumes: usize) -> Self {
        self.max_resumes = max_resumes;
        self
    }

    /// Sets the time for the decision about tool calls that need approval.
    pub fn approval_expiry(mut self, approval_expiry: Duration) -> Self {
        self.approval_expiry = approval_expiry;
        self
    }
}

impl Default for DurableTurns {
    fn default() -> Self {
        Self::new()
    }
}
