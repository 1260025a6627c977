//! Listing, deletion and cleanup of conversations.

use super::CassandraChatMemoryStore;
use super::error_mapping::AttemptFailure;
use super::rows::head;
use super::session::{ConditionOutcome, ConditionalBatch};
use ai_services_core::memory::{
    Conversation, ConversationStore, HistoryEntry, HistoryPosition, MemoryId, RawRecord,
};
use ai_services_core::store_kit::check_limit;
use ai_services_core::store_kit::{limits, time};
use ai_services_core::{Error, ErrorKind, Result};
use async_trait::async_trait;
use scylla::DeserializeRow;
use scylla::response::PagingState;
use scylla::response::query_result::QueryRowsResult;
use std::time::SystemTime;

/// A version that no conversation has, not even an unknown one.
const NO_VERSION: i64 = i64::MIN;

/// A row of a list.
#[derive(DeserializeRow)]
pub(super) struct Listed {
    pub(super) id: String,
    version: Option<i64>,
    messages: Option<i64>,
    last_updated: Option<i64>,
    pub(super) journal: Option<String>,
    pub(super) journal_updated: Option<i64>,
}

#[async_trait]
impl ConversationStore for CassandraChatMemoryStore {
    /// Returns conversations in the order of Cassandra's partition tokens, which is stable but looks random.
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
            let (rows, more) = self.list_page(after, limit, state).await?;
            for row in rows {
                if let Some(known) = self.conversation_from_row(row).await? {
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
        let statements = self.statements().await?;
        let Some(row) = self.head(id, &statements.read.head).await? else { return Ok(None) };
        let messages = row.head.map(|head| head.messages);
        self.existing_conversation(id.clone(), messages, row.last_updated).await
    }

    /// Reads the heads of all conversations on all nodes, in pages. Run it at times of low load.
    /// Conversations with a held lease are not deleted.
    async fn delete_not_updated_since(&self, time: SystemTime) -> Result<u64> {
        let before = time::millis(time);
        let (mut deleted, mut next) = (0, Some(PagingState::start()));
        while let Some(state) = next {
            let (rows, more) = self.list_page(None, usize::MAX, state).await?;
            for row in rows {
                // A row that only holds a lease does not have a time. A damaged head stays.
                let last_write = row.last_updated.max(row.journal_updated);
                let is_damaged = row.version.is_some() != row.last_updated.is_some();
                if !is_damaged && last_write.is_some_and(|last_write| last_write < before) {
                    deleted += u64::from(self.delete_unchanged(&row).await?);
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

    /// Exports the raw rows. The first one is the head, as JSON.
    async fn export_raw(&self, id: &MemoryId) -> Result<Vec<RawRecord>> {
        limits::check_id(id)?;
        self.export_rows(id).await
    }
}

impl CassandraChatMemoryStore {
    /// Returns a page of heads, including those that only hold a lease and those of deleted conversations.
    pub(super) async fn list_page(
        &self,
        after: Option<&MemoryId>,
        limit: usize,
        state: PagingState,
    ) -> Result<(Vec<Listed>, Option<PagingState>)> {
        let action = "list conversations";
        let statements = self.statements().await?;
        let with_page_size = |statement: &scylla::statement::prepared::PreparedStatement| {
            let mut statement = statement.clone();
            let rows = i32::try_from(limit).unwrap_or(i32::MAX).saturating_add(1);
            statement.set_page_size(rows.min(statement.get_page_size()));
            statement
        };
        let Some(after) = after else {
            let (rows, next) = self
                .client()
                .page(action, &with_page_size(&statements.read.list), &(), state)
                .await?;
            return Ok((collect_rows(action, &rows)?, next));
        };
        let statement = with_page_size(&statements.read.list_from);
        let values = (after.as_str(),);
        let (rows, next) = self.client().page(action, &statement, &values, state).await?;
        let rows = collect_rows(action, &rows)?;
        // Different ids can have the same token. Cassandra orders them by their bytes.
        let token = |id: &str| statements.read.head.calculate_token(&(id,)).ok().flatten();
        let start = token(after.as_str());
        let is_before = |row: &Listed| {
            row.id == after.as_str()
                || start.is_some()
                    && token(&row.id) == start
                    && row.id.as_bytes() < after.as_str().as_bytes()
        };
        Ok((rows.into_iter().filter(|row| !is_before(row)).collect(), next))
    }

    /// Converts a row of a list to a conversation; `None` if it is not one.
    async fn conversation_from_row(&self, row: Listed) -> Result<Option<Conversation>> {
        let Listed { id, version, messages, last_updated, .. } = row;
        let id = MemoryId::from(id);
        let messages = head(&id, version, messages)?.map(|head| head.messages);
        self.existing_conversation(id, messages, last_updated.unwrap_or(0)).await
    }

    /// Returns the conversation; `None` if it has neither messages nor history.
    async fn existing_conversation(
        &self,
        id: MemoryId,
        messages: Option<u64>,
        last_updated: i64,
    ) -> Result<Option<Conversation>> {
        let Some(messages) = messages else { return Ok(None) };
        if messages == 0 && !self.has_history(&id).await? {
            return Ok(None);
        }
        Ok(Some(Conversation::new(id, messages, time::from_millis(last_updated))))
    }

    /// Deletes all data of a conversation, whatever its version.
    ///
    /// Uses a transaction although its condition always holds: a plain deletion has the timestamp of a clock,
    /// but a commit that of its ballot. If the clock is ahead, the deletion would also delete a later commit.
    pub(super) async fn delete(&self, id: &MemoryId) -> Result<()> {
        let statements = self.statements().await?;
        let mut batch = self.client().new_batch();
        batch.add(&statements.write.delete_head, (id.as_str(), NO_VERSION));
        batch.add(&statements.write.delete, (id.as_str(),));
        if self.run_deletion(&batch).await? {
            return Ok(());
        }
        let message = format!("the conversation `{id}` has an invalid version");
        Err(Error::new(ErrorKind::Store, message))
    }

    /// Deletes a conversation if version and journal are still those of the row, and its lease is free. Returns
    /// whether it was deleted.
    async fn delete_unchanged(&self, row: &Listed) -> Result<bool> {
        let statements = self.statements().await?;
        let mut batch = self.client().new_batch();
        let Listed { id, version, journal, .. } = row;
        batch.add(&statements.write.delete_unchanged_head, (id, version, journal));
        batch.add(&statements.write.delete, (id,));
        self.run_deletion(&batch).await
    }

    /// Runs a deletion and returns whether its condition held. Deletions are idempotent.
    async fn run_deletion(&self, batch: &ConditionalBatch<'_>) -> Result<bool> {
        let outcome =
            self.client().retry(|| self.client().batch("delete a conversation", batch)).await?;
        Ok(matches!(outcome, ConditionOutcome::Applied))
    }
}

fn collect_rows(action: &str, rows: &QueryRowsResult) -> Result<Vec<Listed>> {
    let rows =
        rows.rows::<Listed>().map_err(|error| AttemptFailure::answer(action, error).error)?;
    rows.map(|row| row.map_err(|error| AttemptFailure::answer(action, error).error)).collect()
}
