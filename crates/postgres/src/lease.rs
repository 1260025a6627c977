//! Leases, by the clock of the server.

use super::PostgresChatMemoryStore;
use super::fault::{Fault, retried};
use ai_services_core::Result;
use ai_services_core::memory::{ConversationLeases, LeaseOptions, LeaseToken, MemoryId};
use ai_services_core::store_kit::limits::check_id;
use async_trait::async_trait;

/// The longest lease, a hundred years: what a time of the server can be added to.
const MAX_SECONDS: f64 = 100.0 * 365.0 * 86_400.0;

#[async_trait]
impl ConversationLeases for PostgresChatMemoryStore {
    fn options(&self) -> LeaseOptions {
        self.0.leases.unwrap_or_default()
    }

    async fn acquire(&self, id: &MemoryId, token: LeaseToken) -> Result<bool> {
        check_id(id)?;
        retried(|_| self.acquire_once(id, token)).await
    }

    async fn release(&self, id: &MemoryId, token: LeaseToken) -> Result<()> {
        check_id(id)?;
        retried(|_| self.release_once(id, token)).await
    }
}

impl PostgresChatMemoryStore {
    async fn acquire_once(&self, id: &MemoryId, token: LeaseToken) -> Result<bool, Fault> {
        let seconds = self.options().duration.as_secs_f64().min(MAX_SECONDS);
        let (id, token) = (id.as_str().as_bytes(), token.get().cast_signed());
        let mut connection = self.connect().await?;
        Ok(connection.execute(&self.0.sql.acquire, &[&id, &token, &seconds]).await? == 1)
    }

    async fn release_once(&self, id: &MemoryId, token: LeaseToken) -> Result<(), Fault> {
        let (id, token) = (id.as_str().as_bytes(), token.get().cast_signed());
        self.connect().await?.execute(&self.0.sql.release, &[&id, &token]).await?;
        Ok(())
    }
}
