//! Leases of the faulty store.

use super::{Fault, FaultyStore};
use ai_services_core::Result;
use ai_services_core::memory::{ConversationLeases, LeaseOptions, LeaseToken, MemoryId};
use async_trait::async_trait;
use std::time::Duration;
use tokio::time::Instant;

#[async_trait]
impl ConversationLeases for FaultyStore {
    fn options(&self) -> LeaseOptions {
        LeaseOptions::new().duration(Duration::from_secs(1))
    }

    async fn acquire(&self, id: &MemoryId, token: LeaseToken) -> Result<bool> {
        let mut state = self.state();
        let chat = state.chats.entry(self.key(id)).or_default();
        let until = Instant::now() + self.options().duration;
        if self.is(Fault::LeaseChangesVersion) {
            chat.version += 1;
        }
        match chat.lease {
            Some((holder, _)) if holder == token && self.is(Fault::DoesNotExtendLeases) => {}
            Some((holder, ends)) if holder != token => {
                let is_over = ends <= Instant::now() && !self.is(Fault::LeasesNeverExpire);
                if !is_over && !self.is(Fault::GrantsEveryLease) {
                    return Ok(false);
                }
                chat.lease = Some((token, until));
            }
            _ => chat.lease = Some((token, until)),
        }
        Ok(true)
    }

    async fn release(&self, id: &MemoryId, token: LeaseToken) -> Result<()> {
        let mut state = self.state();
        let is_any_holder = self.is(Fault::ReleasesForeignLeases);
        if let Some(chat) = state.chats.get_mut(&self.key(id)) {
            chat.lease = chat.lease.filter(|(holder, _)| *holder != token && !is_any_holder);
        }
        Ok(())
    }
}
