//! Release of the lease of a conversation.

use ai_services::memory::{ChatMemoryStore, ConversationStore, LeaseRequest, MemoryId};
use std::sync::Arc;
use std::time::Duration;

/// Time limit for the release of a lease.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(1);

/// Waits until the lease of a cancelled or failed turn was released in the background.
///
/// The program may exit next, and another process would have to wait until an unreleased lease expires.
pub(crate) async fn wait_for_release(store: &Arc<dyn ConversationStore>, user: &str) {
    let store: Arc<dyn ChatMemoryStore> = store.clone();
    let id = MemoryId::from(user);
    let Some(request) = LeaseRequest::new(&store, &id) else { return };
    if let (Ok(lease), Some(leases)) = (request.wait(RELEASE_TIMEOUT).await, store.leases()) {
        // If the release fails, the lease expires.
        let _ = leases.release(&id, lease.token()).await;
    }
}
