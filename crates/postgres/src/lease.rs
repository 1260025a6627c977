//! Leases. Expiry is measured by the clock of the server. If it is set back, the leases that were acquired before
//! count as expired.

use super::PostgresChatMemoryStore;
use super::error_mapping::{AttemptFailure, retry};
use ai_services_core::Result;
use ai_services_core::memory::{ConversationLeases, LeaseOptions, LeaseToken, MemoryId};
use ai_services_core::store_kit::limits::check_id;
use async_trait::async_trait;

/// Maximum duration of a lease, 100 years: adding it to the server's clock must not overflow.
const MAX_SECONDS: f64 = 100.0 * 365.0 * 86_400.0;

#[async_trait]
impl ConversationLeases for PostgresChatMemoryStore {
    fn options(&self) -> LeaseOptions {
        self.0.leases.unwrap_or_default()
    }

    async fn acquire(&self, id: &MemoryId, token: LeaseToken) -> Result<bool> {
        check_id(id)?;
        retry(|_| self.acquire_once(id, token)).await
    }

    async fn release(&self, id: &MemoryId, token: LeaseToken) -> Result<()> {
        check_id(id)?;
        retry(|_| self.release_once(id, token)).await
    }
}

impl PostgresChatMemoryStore {
    async fn acquire_once(&self, id: &MemoryId, token: LeaseToken) -> Result<bool, AttemptFailure> {
        let seconds = self.options().duration.as_secs_f64().min(MAX_SECONDS);
        let (id, token) = (id.as_str().as_bytes(), token.get().cast_signed());
        let mut connection = self.connect().await?;
        Ok(connection.execute(&self.0.sql.acquire, &[&id, &token, &seconds]).await? == 1)
    }

    async fn release_once(&self, id: &MemoryId, token: LeaseToken) -> Result<(), AttemptFailure> {
        let (id, token) = (id.as_str().as_bytes(), token.get().cast_signed());
        self.connect().await?.execute(&self.0.sql.release, &[&id, &token]).await?;
        Ok(())
    }
}
