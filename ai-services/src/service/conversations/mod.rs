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
///
/// # Calls within a call
///
/// A tool, guardrail, retriever, tool provider, listener or model that calls its own service on the memory
/// of the running call would wait for itself. Under either policy, this inner call fails with
/// [`ErrorKind::Configuration`](crate::ErrorKind::Configuration). The same holds for a call that reaches the
/// memory through calls on other ids, and for methods without a `#[memory_id]` that share one memory. An
/// inner call on another id is allowed.
///
/// Only a call that is polled by the future or the stream of the outer call is recognized. These wait:
///
/// - a call in another task or thread, because it may run after the outer call: do not wait for it within
///   the outer call,
/// - a call by the consumer of a stream, made before the stream has ended or was dropped,
/// - two calls on two ids, each of which calls the service on the id of the other.
///
/// Two services have separate queues. If they share a store, an inner call that another service makes on the
/// conversation changes it, and the outer call restarts or fails with
/// [`ErrorKind::Conflict`](crate::ErrorKind::Conflict). With leases, the inner call fails with
/// [`ErrorKind::Busy`](crate::ErrorKind::Busy) at their time limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConcurrentCalls {
    /// The call waits. Calls on one id run in the order in which they were made.
    #[default]
    Queue,
    /// The call fails with [`ErrorKind::Busy`](crate::ErrorKind::Busy).
    Reject,
}
