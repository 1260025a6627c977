//! The queue of each conversation, and the memories that live in the service.
//!
//! An idle conversation costs nothing, unless its memory has no store to live in.

mod primitives;
mod slots;

#[cfg(test)]
mod interleaving_tests;
#[cfg(test)]
mod tests;

pub(super) use slots::{ConversationLock, ConversationSlot, Conversations};

/// Policy for a second call on a memory id that is in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConcurrentCalls {
    /// The call waits. Calls on one id run in the order in which they were made.
    #[default]
    Queue,
    /// The call fails with [`ErrorKind::Busy`](crate::ErrorKind::Busy).
    Reject,
}
