//! Leases: a static column with a time to live.

use super::CassandraChatMemoryStore;
use super::rows::token;
use super::session::ConditionOutcome;
use ai_services_core::memory::{ConversationLeases, LeaseOptions, LeaseToken, MemoryId};
use ai_services_core::store_kit::limits;
use ai_services_core::{Error, Result};
use async_trait::async_trait;
use scylla::serialize::row::SerializeRow;
use scylla::statement::prepared::PreparedStatement;

/// Cassandra's maximum time to live, 20 years, in seconds, less the second that [`time_to_live`] adds.
const MAX_SECONDS: u64 = 630_720_000 - 1;

/// Validates the options, including Cassandra's maximum time to live.
pub(super) fn checked(options: LeaseOptions) -> Result<LeaseOptions> {
    let options = options.checked()?;
    if options.duration.as_secs() >= MAX_SECONDS {
        return Err(Error::configuration("a lease in Cassandra must be shorter than 20 years"));
    }
    Ok(options)
}

/// Returns the time to live of a lease in seconds. Cassandra truncates its clock to seconds, so a value of
/// `n` expires after `n - 1` to `n` seconds. One more second makes a lease last at least for its duration.
fn time_to_live(options: LeaseOptions) -> i32 {
    let duration = options.duration;
    let seconds = duration.as_secs() + u64::from(duration.subsec_nanos() > 0) + 1;
    i32::try_from(seconds).unwrap_or(i32::MAX)
}

#[async_trait]
impl ConversationLeases for CassandraChatMemoryStore {
    fn options(&self) -> LeaseOptions {
        self.lease_options().unwrap_or_default()
    }

    async fn acquire(&self, id: &MemoryId, holder: LeaseToken) -> Result<bool> {
        limits::check_id(id)?;
        let holder = token(holder.get());
        let values = (time_to_live(self.options()), holder, id.as_str(), holder);
        let statement = &self.statements().await?.write.acquire;
        self.send_idempotent("acquire a lease", statement, &values).await
    }

    async fn release(&self, id: &MemoryId, holder: LeaseToken) -> Result<()> {
        limits::check_id(id)?;
        let values = (id.as_str(), token(holder.get()));
        let statement = &self.statements().await?.write.release;
        self.send_idempotent("release a lease", statement, &values).await.map(drop)
    }
}

impl CassandraChatMemoryStore {
    /// Sends a conditional request that is idempotent, with retries. Returns whether its condition held.
    async fn send_idempotent(
        &self,
        action: &str,
        statement: &PreparedStatement,
        values: &(impl SerializeRow + Sync),
    ) -> Result<bool> {
        let client = self.client();
        let outcome = client.retry(|| client.conditional(action, statement, values)).await?;
        Ok(matches!(outcome, ConditionOutcome::Applied))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn lease_lasts_at_least_for_its_duration() {
        let seconds =
            |millis| time_to_live(LeaseOptions::new().duration(Duration::from_millis(millis)));
        assert_eq!([1_000, 1_001, 30_000].map(seconds), [2, 3, 31]);
    }

    #[test]
    fn invalid_durations_are_rejected() {
        let options = |duration| checked(LeaseOptions::new().duration(duration));
        assert!(options(Duration::from_secs(1)).is_ok());
        for duration in [Duration::ZERO, Duration::from_secs(MAX_SECONDS), Duration::MAX] {
            assert!(options(duration).is_err(), "{duration:?}");
        }
    }
}
