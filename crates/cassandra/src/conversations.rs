//! Listing, deleting and cleaning up.

use super::CassandraChatMemoryStore;
use super::fault::Fault;
use super::rows::head;
use super::session::{ConditionalBatch, Verdict};
use ai_services_core::memory::{
    Conversation, ConversationStore, HistoryEntry, HistoryPosition, MemoryId, RawRecord,
    check_limit,
};
use ai_services_core::store_kit::{limits, time};
use ai_services_core::{Error, ErrorKind, Result};
use async_trait::async_trait;
use scylla::response::PagingState;
use scylla::response::query_result::QueryRowsResult;
use std::time::SystemTime;

/// No version is this one, not even that of an unknown conversation.
const NO_VERSION: i64 = i64::MIN;

/// A conversation as a list has it.
type Listed = (String, Option<i64>, Option<i64>, Option<i64>);

#[async_trait]
impl ConversationStore for CassandraChatMemoryStore {
    /// In the order of Cassandra's tokens, which is the same each time but looks like none.
    async fn conversations(
        &self,
        after: Option<&MemoryId>,
        limit: usize,
    ) -> Result<Vec<Conversation>> {
        let limit = check_limit(limit)?;
        if let Some(after) = after {
            limits::check_id(after)?;
        }
        let (mut found, mut next) = (Vec::new(), Some(PagingState::start()));
        while let Some(state) = next {
            let (rows, more) = self.listed(after, limit, state).await?;
            for row in rows {
                if let Some(known) = self.described(row).await? {
                    found.push(known);
                    if found.len() == limit {
                        return Ok(found);
                    }
                }
            }
            next = more;
        }
        Ok(found)
    }

    async fn conversation(&self, id: &MemoryId) -> Result<Option<Conversation>> {
        limits::check_id(id)?;
        let statements = self.client().statements().await?;
        let Some(row) = self.head(id, &statements.read.head).await? else { return Ok(None) };
        let messages = row.head.map(|head| head.messages);
        self.known(id.clone(), messages, row.last_used).await
    }

    /// Looks at the heads of all conversations, in pages, wherever they lie: one pass over the table,
    /// which is for times of little use. A conversation whose lease is held stays.
    async fn delete_unused_since(&self, time: SystemTime) -> Result<u64> {
        let before = time::millis(time);
        let (mut deleted, mut next) = (0, Some(PagingState::start()));
        while let Some(state) = next {
            let (rows, more) = self.listed(None, usize::MAX, state).await?;
            for (id, version, _, last_used) in rows {
                let is_old = last_used.is_some_and(|last_used| last_used < before);
                if let (Some(version), true) = (version, is_old) {
                    deleted += u64::from(self.delete_unchanged(&id, version).await?);
                }
            }
            next = more;
        }
        Ok(deleted)
    }

    async fn history(
        &self,
        id: &MemoryId,
        position: HistoryPosition,
        limit: usize,
    ) -> Result<Vec<HistoryEntry>> {
        let limit = check_limit(limit)?;
        limits::check_id(id)?;
        self.history_page(id, position, limit).await
    }

    /// The first row is the head, as JSON.
    async fn export_raw(&self, id: &MemoryId) -> Result<Vec<RawRecord>> {
        limits::check_id(id)?;
        self.exported(id).await
    }
}

impl CassandraChatMemoryStore {
    /// A page of heads, those of leases and of deleted conversations among them.
    async fn listed(
        &self,
        after: Option<&MemoryId>,
        limit: usize,
        state: PagingState,
    ) -> Result<(Vec<Listed>, Option<PagingState>)> {
        let what = "list conversations";
        let statements = self.client().statements().await?;
        let sized = |statement: &scylla::statement::prepared::PreparedStatement| {
            let mut statement = statement.clone();
            let wanted = i32::try_from(limit).unwrap_or(i32::MAX).saturating_add(1);
            statement.set_page_size(wanted.min(statement.get_page_size()));
            statement
        };
        let Some(after) = after else {
            let (rows, next) =
                self.client().page(what, &sized(&statements.read.list), &(), state).await?;
            return Ok((collected(what, &rows)?, next));
        };
        let statement = sized(&statements.read.list_from);
        let values = (after.as_str(),);
        let (rows, next) = self.client().page(what, &statement, &values, state).await?;
        let rows = collected(what, &rows)?;
        // Different ids can have the same token. Cassandra orders these by their bytes.
        let token = |id: &str| statements.read.head.calculate_token(&(id,)).ok().flatten();
        let start = token(after.as_str());
        let is_before = |row: &Listed| {
            row.0 == after.as_str()
                || start.is_some()
                    && token(&row.0) == start
                    && row.0.as_bytes() < after.as_str().as_bytes()
        };
        Ok((rows.into_iter().filter(|row| !is_before(row)).collect(), next))
    }

    /// What a list says of a conversation, if it is one.
    async fn described(&self, row: Listed) -> Result<Option<Conversation>> {
        let (id, version, messages, last_used) = row;
        let id = MemoryId::from(id);
        let messages = head(&id, version, messages)?.map(|head| head.messages);
        self.known(id, messages, last_used.unwrap_or(0)).await
    }

    /// A conversation without messages is one only if some were kept.
    async fn known(
        &self,
        id: MemoryId,
        messages: Option<u64>,
        last_used: i64,
    ) -> Result<Option<Conversation>> {
        let Some(messages) = messages else { return Ok(None) };
        if messages == 0 && !self.has_history(&id).await? {
            return Ok(None);
        }
        Ok(Some(Conversation::new(id, messages, time::from_millis(last_used))))
    }

    /// Deletes everything of a conversation, whatever its version.
    ///
    /// As a transaction, though it has no true condition: a plain deletion has the time of some clock,
    /// a commit that of its ballot, and if the clock is ahead, a commit that comes later would be
    /// deleted too.
    pub(super) async fn delete(&self, id: &MemoryId) -> Result<()> {
        let statements = self.client().statements().await?;
        let mut batch = self.client().new_batch();
        batch.add(&statements.write.delete_head, (id.as_str(), NO_VERSION));
        batch.add(&statements.write.delete, (id.as_str(),));
        match self.removed(&batch).await? {
            true => Ok(()),
            false => {
                let message = format!("the conversation `{id}` has a version that cannot be");
                Err(Error::new(ErrorKind::Store, message))
            }
        }
    }

    /// Deletes a conversation if it still has this version and nobody holds its lease.
    async fn delete_unchanged(&self, id: &str, version: i64) -> Result<bool> {
        let statements = self.client().statements().await?;
        let mut batch = self.client().new_batch();
        batch.add(&statements.write.delete_unchanged_head, (id, version));
        batch.add(&statements.write.delete, (id,));
        self.removed(&batch).await
    }

    /// Says whether the condition held. Deleting twice is deleting once.
    async fn removed(&self, batch: &ConditionalBatch<'_>) -> Result<bool> {
        let verdict =
            self.client().retried(|| self.client().batch("delete a conversation", batch)).await?;
        Ok(matches!(verdict, Verdict::Applied))
    }
}

fn collected(what: &str, rows: &QueryRowsResult) -> Result<Vec<Listed>> {
    let rows = rows.rows::<Listed>().map_err(|error| Fault::answer(what, error).error)?;
    rows.map(|row| row.map_err(|error| Fault::answer(what, error).error)).collect()
}
