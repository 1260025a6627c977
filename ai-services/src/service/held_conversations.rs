//! The conversations that the calls around the current code hold.

use super::components::Components;
use crate::memory::MemoryId;
use std::pin::Pin;
use std::sync::Arc;

tokio::task_local! {
    /// The calls that run the current code, while their futures are polled.
    static HELD: HeldConversations;
}

/// The conversation of a call, and those of the calls around it.
#[derive(Clone)]
struct HeldConversations {
    components: Arc<Components>,
    /// `None` for the memory of the methods without a `#[memory_id]`.
    id: Option<MemoryId>,
    outer: Option<Arc<Self>>,
}

/// Runs the part of a call that holds a conversation of the service.
///
/// The future is pinned by the caller: it is large, and each function that takes it by value would copy it
/// twice.
pub(super) async fn holding<T>(
    components: &Arc<Components>,
    id: Option<&MemoryId>,
    call: Pin<&mut impl Future<Output = T>>,
) -> T {
    let outer = HELD.try_with(|held| Arc::new(held.clone())).ok();
    let held = HeldConversations { components: Arc::clone(components), id: id.cloned(), outer };
    HELD.scope(held, call).await
}

/// Returns `true` if the current code runs within a call that holds this conversation.
///
/// A call is recognized while its future or its stream polls the current code. Code in another task or
/// thread is not recognized, because it may outlive the call.
pub(super) fn is_held(components: &Arc<Components>, id: Option<&MemoryId>) -> bool {
    let is_held = |held: &HeldConversations| {
        let mut calls = std::iter::successors(Some(held), |held| held.outer.as_deref());
        calls.any(|held| Arc::ptr_eq(&held.components, components) && held.id.as_ref() == id)
    };
    HELD.try_with(is_held).unwrap_or(false)
}
