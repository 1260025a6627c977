//! Leases: one key for each, which the server expires.

use super::RedisChatMemoryStore;
use super::scripts::{ACQUIRE, RELEASE};
use ai_services_core::Result;
use ai_services_core::memory::{ConversationLeases, LeaseOptions, LeaseToken, MemoryId};
use ai_services_core::store_kit::limits::check_id;
use async_trait::async_trait;

#[async_trait]
impl ConversationLeases for RedisChatMemoryStore {
    fn options(&self) -> LeaseOptions {
        self.0.leases.unwrap_or_default()
    }

    /// Expiry is measured by the clock of the server. If it is set back, the leases that were acquired before
    /// count as expired.
    async fn acquire(&self, id: &MemoryId, lease: LeaseToken) -> Result<bool> {
        check_id(id)?;
        let duration = self.options().duration.as_millis();
        let mut script = ACQUIRE.prepare_invoke();
        script.key(self.0.keys.of(id).lease).arg(token(lease));
        script.arg(u64::try_from(duration).unwrap_or(u64::MAX).min(MAX_MILLIS));
        self.0.connections.request("acquire the lease of a conversation", script).await
    }

    async fn release(&self, id: &MemoryId, lease: LeaseToken) -> Result<()> {
        let mut script = RELEASE.prepare_invoke();
        script.key(self.0.keys.of(id).lease).arg(token(lease));
        let _: u64 =
            self.0.connections.request("release the lease of a conversation", script).await?;
        Ok(())
    }
}

/// Returns the stored form of a lease token.
pub(super) fn token(lease: LeaseToken) -> String {
    format!("{:016x}", lease.get())
}

/// Maximum time to live, 100 years, because servers reject very large values.
pub(super) const MAX_MILLIS: u64 = 100 * 366 * 24 * 60 * 60 * 1000;
