//! What a turn begins with: what the user said, checked, and what was found for it.

use super::invocation::Invocation;
use super::recall::Recall;
use crate::document::TextSegment;
use crate::invocation::TurnContext;
use crate::memory::Snapshot;
use crate::message::{ChatMessage, UserMessage};
use crate::rag::{Retrieved, RetrievedContent};

/// Which form of the user's message is remembered when something was retrieved for it.
///
/// In either form the message is what the input guardrails made of it, and has no instructions on the form
/// of the answer.
///
/// # Differences from LangChain4j
///
/// There the augmented message is remembered by default, and what is remembered otherwise is the message as
/// it was before the guardrails, without its images.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
#[doc(alias = "storeRetrievedContentInChatMemory")]
pub enum Remembered {
    /// The user's own words, images and the rest. What was retrieved is sent with this turn only.
    #[default]
    UserMessage,
    /// The message with what was retrieved, as it was sent. It stays in the window until it is evicted.
    AugmentedMessage,
}

/// What a turn begins with.
pub(super) struct Opening {
    /// What the user said, as the input guardrails left it.
    pub(super) user: UserMessage,
    /// The same with what was found, if anything was.
    pub(super) augmented: Option<UserMessage>,
    /// What guardrails are told; `None` if there are none.
    pub(super) background: Option<Background>,
}

/// The turn as retrieval and guardrails see it.
pub(super) struct Background {
    pub(super) turn: TurnContext,
    pub(super) retrieved: Retrieved,
    /// The texts of what was retrieved.
    pub(super) segments: Vec<TextSegment>,
}

impl Opening {
    /// Nothing is looked up or checked.
    pub(super) fn plain(user: &UserMessage) -> Self {
        Self { user: user.clone(), augmented: None, background: None }
    }

    /// What was found.
    pub(super) fn into_sources(self) -> Vec<RetrievedContent> {
        self.background.map(|background| background.retrieved.contents).unwrap_or_default()
    }

    /// Whether something is sent beside what the user said.
    pub(super) fn is_augmented(&self) -> bool {
        self.augmented.is_some()
    }

    /// The message that is sent.
    pub(super) fn sent(&self) -> &UserMessage {
        self.augmented.as_ref().unwrap_or(&self.user)
    }

    /// The message that is remembered.
    pub(super) fn remembered(&self, form: Remembered) -> &UserMessage {
        match form {
            Remembered::UserMessage => &self.user,
            Remembered::AugmentedMessage => self.sent(),
        }
    }
}

impl Background {
    pub(super) fn new(turn: TurnContext, retrieved: Retrieved) -> Self {
        let segments = retrieved.contents.iter().map(|content| content.segment.clone()).collect();
        Self { turn, retrieved, segments }
    }
}

/// The turn, for whoever looks at it before and after the model.
pub(super) fn turn_context(
    invocation: &Invocation<'_>,
    recall: &Recall,
    snapshot: &Snapshot,
) -> TurnContext {
    let said = invocation.said;
    let system = said.system.as_ref().or(snapshot.system());
    let mut turn = TurnContext::builder(said.user.clone())
        .invocation(invocation.context().clone())
        .meter(invocation.meter().clone());
    if let Some(ChatMessage::System(system)) = system {
        turn = turn.system_message(system.clone());
    }
    if let Some(id) = invocation.memory_id() {
        turn = turn.memory_id(id.clone());
    }
    // A message that is too large for the window may become smaller until it is sent.
    let left_out = recall.left_out(snapshot, system, &[said.user.clone().into()]).unwrap_or(0);
    turn.shared_history(snapshot.messages().clone(), snapshot.start() + left_out).build()
}
