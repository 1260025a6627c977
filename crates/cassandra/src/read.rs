//! Queries on conversations.

use super::CassandraChatMemoryStore;
use super::error_mapping::AttemptFailure;
use super::rows::{MemoryRow, NumberRow, RawText, Stored, bigint, head, number, position};
use super::session::ConditionValues;
use super::statements::{ANCHOR, EVICTED, JOURNAL, MESSAGE};
use ai_services_core::memory::{
    HistoryEntry, HistoryPosition, MemoryId, RawRecord, UnreadableRecord,
};
use ai_services_core::store_kit::cache::{
    KnownConversation, LoadedConversation, StoredConversation, StoredRows,
};
use ai_services_core::store_kit::commits::CommitLog;
use ai_services_core::store_kit::plan::ConversationHead;
use ai_services_core::store_kit::record;
use ai_services_core::{Error, ErrorKind, Result};
use futures_util::future::try_join;
use scylla::DeserializeRow;
use scylla::deserialize::row::DeserializeRow;
use scylla::response::PagingState;
use scylla::serialize::row::SerializeRow;
use scylla::statement::prepared::PreparedStatement;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Maximum number of attempts to read a conversation that changes between two pages.
pub(super) const RESTARTS: u32 = 8;

/// The head of a conversation, with its lease and last use.
#[derive(Clone, Debug)]
pub(super) struct HeadRow {
    pub(super) present: ConditionValues,
    pub(super) head: Option<ConversationHead>,
    pub(super) last_updated: i64,
    pub(super) commits: CommitLog,
}

#[derive(DeserializeRow)]
struct ExportedRow {
    kind: Option<i8>,
    number: Option<i64>,
    record: RawText,
    commits: Option<Vec<u8>>,
    version: Option<i64>,
    messages: Option<i64>,
    last_updated: Option<i64>,
    lease: Option<i64>,
    journal: Option<String>,
    journal_updated: Option<i64>,
}

impl CassandraChatMemoryStore {
    /// Reads and decodes what a load needs besides the known state, after the last commit, including one whose
    /// answer was lost.
    pub(super) async fn read_since(
        &self,
        id: &MemoryId,
        known: Option<&KnownConversation>,
    ) -> Result<LoadedConversation> {
        let read = &self.statements().await?.read;
        let numbered = |stored: Stored| -> Vec<(u64, RawText)> {
            stored.messages.into_iter().map(|row| (row.number, row.record)).collect()
        };
        let Some(first) = known.and_then(KnownConversation::first_row) else {
            let stored = self.read_rows::<MemoryRow>(id, &read.latest_rows, None).await?;
            let (head, commits, journal) = (stored.head, stored.commits.clone(), stored.journal);
            let rows = StoredRows::All(numbered(stored));
            let loaded = StoredConversation { head, commits, rows }.decode(id, known)?;
            return Ok(loaded.with_journal(journal));
        };
        let values = (id.as_str(), bigint(first));
        let (oldest, newest) = try_join(
            self.read_rows::<NumberRow>(id, &read.latest_numbers, Some(2)),
            self.pages::<MemoryRow>(id, &read.rows_since, &values),
        )
        .await?;
        let newest = newest.unwrap_or_default();
        // Both reads returned the same version, or the second one found no rows.
        let is_same = newest.head.is_none() || newest.head == oldest.head;
        let (head, commits, journal) = (oldest.head, oldest.commits.clone(), oldest.journal);
        let oldest = oldest.messages.iter().map(|row| row.number).collect();
        let rows = StoredRows::Since { oldest, rows: numbered(newest) };
        let stored = StoredConversation { head, commits, rows };
        Ok(stored.decode(id, known.filter(|_| is_same))?.with_journal(journal))
    }

    /// Returns the head and the first `limit` messages, all of the same version.
    pub(super) async fn read_rows<R>(
        &self,
        id: &MemoryId,
        statement: &PreparedStatement,
        limit: Option<usize>,
    ) -> Result<Stored>
    where
        R: for<'r> DeserializeRow<'r, 'r> + Into<MemoryRow>,
    {
        // One more row, because the anchor comes first.
        let limit = limit.and_then(|limit| i32::try_from(limit).ok()?.checked_add(1));
        for _ in 0..RESTARTS {
            let values = (id.as_str(), limit.unwrap_or(i32::MAX));
            if let Some(stored) = self.pages::<R>(id, statement, &values).await? {
                return Ok(stored);
            }
        }
        Err(changed_repeatedly(id))
    }

    /// Returns the rows of a statement with these values; `None` if the conversation changed between two pages.
    async fn pages<R>(
        &self,
        id: &MemoryId,
        statement: &PreparedStatement,
        values: &(impl SerializeRow + Sync),
    ) -> Result<Option<Stored>>
    where
        R: for<'r> DeserializeRow<'r, 'r> + Into<MemoryRow>,
    {
        let action = "load a conversation";
        let (mut stored, mut next) = (Stored::default(), Some(PagingState::start()));
        while let Some(state) = next {
            let page = self.client().page(action, statement, values, state).await?;
            let rows =
                page.0.rows::<R>().map_err(|error| AttemptFailure::answer(action, error).error)?;
            for row in rows {
                let row = row.map_err(|error| AttemptFailure::answer(action, error).error)?;
                if !stored.push(id, row.into())? {
                    return Ok(None);
                }
            }
            next = page.1;
        }
        Ok(Some(stored))
    }

    /// Reads the head with one of the statements for it; `None` if the conversation does not exist.
    pub(super) async fn head(
        &self,
        id: &MemoryId,
        statement: &PreparedStatement,
    ) -> Result<Option<HeadRow>> {
        type Number = Option<i64>;
        type Columns = (Number, Number, Number, Number, Option<Vec<u8>>, Option<String>);
        let action = "read the head of a conversation";
        let start = PagingState::start();
        let (rows, _) = self.client().page(action, statement, &(id.as_str(),), start).await?;
        let row = rows.maybe_first_row::<Columns>();
        let Some(row) = row.map_err(|error| AttemptFailure::answer(action, error).error)? else {
            return Ok(None);
        };
        let (version, lease, messages, last_updated, commits, journal) = row;
        let head = head(id, version, messages)?;
        let journal = position(id, journal.as_deref())?;
        let present = ConditionValues { version, lease, journal };
        let commits = CommitLog::new(commits.unwrap_or_default());
        Ok(Some(HeadRow { present, head, last_updated: last_updated.unwrap_or(0), commits }))
    }

    pub(super) async fn history_page(
        &self,
        id: &MemoryId,
        position: HistoryPosition,
        limit: usize,
    ) -> Result<Vec<HistoryEntry>> {
        // The rows in memory first: a message that is evicted between the two reads is then found twice.
        // In the other order it would be missing.
        let mut found = BTreeMap::new();
        for kind in [MESSAGE, EVICTED] {
            for (number, record) in self.read_numbered(id, kind, position, limit).await? {
                found.entry(number).or_insert((record, kind == EVICTED));
            }
        }
        let surplus = found.len().saturating_sub(limit);
        let skipped = match position {
            HistoryPosition::Oldest | HistoryPosition::After(_) => 0,
            HistoryPosition::Newest | HistoryPosition::Before(_) => surplus,
        };
        let page = found.into_iter().skip(skipped).take(limit);
        page.map(|(number, (record, is_evicted))| {
            let message = record::decode(id, number, record.as_ref())?;
            Ok(HistoryEntry::new(number, message, is_evicted))
        })
        .collect()
    }

    /// Returns at most `limit` rows of one kind next to a position.
    async fn read_numbered(
        &self,
        id: &MemoryId,
        kind: i8,
        position: HistoryPosition,
        limit: usize,
    ) -> Result<Vec<(u64, RawText)>> {
        let statements = self.statements().await?;
        let (statement, bound) = match position {
            HistoryPosition::Oldest => (&statements.read.history_after, i64::MIN),
            HistoryPosition::After(after) => (&statements.read.history_after, bigint(after)),
            HistoryPosition::Newest => (&statements.read.history_before, i64::MAX),
            HistoryPosition::Before(before) => (&statements.read.history_before, bigint(before)),
        };
        let limit = i32::try_from(limit).unwrap_or(i32::MAX);
        let action = "read the history of a conversation";
        let (mut found, mut next) = (Vec::new(), Some(PagingState::start()));
        while let Some(state) = next {
            let values = (id.as_str(), kind, bound, limit);
            let page = self.client().page(action, statement, &values, state).await?;
            let rows = page.0.rows::<(i64, RawText)>();
            for row in rows.map_err(|error| AttemptFailure::answer(action, error).error)? {
                let (at, record) =
                    row.map_err(|error| AttemptFailure::answer(action, error).error)?;
                found.push((number(id, at)?, record));
            }
            next = page.1;
        }
        Ok(found)
    }

    /// Returns whether the conversation has evicted messages.
    pub(super) async fn has_history(&self, id: &MemoryId) -> Result<bool> {
        let first = self.read_numbered(id, EVICTED, HistoryPosition::Oldest, 1).await;
        // A row with an invalid number counts, too.
        match first {
            Ok(rows) => Ok(!rows.is_empty()),
            Err(error) if error.detail::<UnreadableRecord>().is_some() => Ok(true),
            Err(error) => Err(error),
        }
    }

    pub(super) async fn export_rows(&self, id: &MemoryId) -> Result<Vec<RawRecord>> {
        let statements = self.statements().await?;
        let action = "export a conversation";
        let (mut found, mut next) = (Vec::new(), Some(PagingState::start()));
        while let Some(state) = next {
            let values = (id.as_str(),);
            let page = self.client().page(action, &statements.read.export, &values, state).await?;
            let rows = page.0.rows::<ExportedRow>();
            for row in rows.map_err(|error| AttemptFailure::answer(action, error).error)? {
                let row = row.map_err(|error| AttemptFailure::answer(action, error).error)?;
                if found.is_empty() {
                    found.push(RawRecord::new("the head", row.head()));
                    let position = row.journal.as_deref();
                    let name = "the position of the journal";
                    found.extend(position.map(|position| RawRecord::new(name, position)));
                }
                found.extend(row.into_record());
            }
            next = page.1;
        }
        Ok(found)
    }
}

/// Creates the error of a conversation that changes too often to be read.
pub(super) fn changed_repeatedly(id: &MemoryId) -> Error {
    let message = format!("the conversation `{id}` changed repeatedly while it was read");
    Error::new(ErrorKind::Store, message).with_retryable(true)
}

impl ExportedRow {
    /// Returns the content of the row; `None` if it has none.
    fn into_record(self) -> Option<RawRecord> {
        let (kind, number) = (self.kind?, self.number?);
        match kind {
            ANCHOR => Some(RawRecord::new("the log of commits", self.commits?)),
            MESSAGE => Some(RawRecord::new(format!("message {number}"), self.record.0)),
            EVICTED => Some(RawRecord::new(format!("evicted message {number}"), self.record.0)),
            JOURNAL => Some(RawRecord::new(format!("journal record {number}"), self.record.0)),
            _ if self.record.0.is_empty() => None,
            _ => Some(RawRecord::new(format!("row {number} of kind {kind}"), self.record.0)),
        }
    }

    /// Returns the static columns as JSON.
    fn head(&self) -> String {
        let Self { version, messages, last_updated, lease, journal_updated, .. } = self;
        let columns = [
            ("version", version),
            ("messages", messages),
            ("last_updated", last_updated),
            ("lease", lease),
            ("journal_updated", journal_updated),
        ];
        let mut text = String::new();
        for (name, value) in columns {
            let separator = if text.is_empty() { "" } else { "," };
            // Writing to a string does not fail.
            let _ = match value {
                Some(value) => write!(text, "{separator}\"{name}\":{value}"),
                None => write!(text, "{separator}\"{name}\":null"),
            };
        }
        format!("{{{text}}}")
    }
}
