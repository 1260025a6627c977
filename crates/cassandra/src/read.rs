//! Reading conversations.

use super::CassandraChatMemoryStore;
use super::fault::Fault;
use super::rows::{MemoryRow, Raw, Stored, bigint, head, number};
use super::session::Present;
use super::statements::{EVICTED, MESSAGE};
use ai_services_core::memory::{
    HistoryEntry, HistoryPosition, MemoryId, RawRecord, Snapshot, UnreadableRecord,
};
use ai_services_core::store_kit::plan::{self, Head};
use ai_services_core::store_kit::record;
use ai_services_core::{Error, ErrorKind, Result};
use scylla::DeserializeRow;
use scylla::deserialize::row::DeserializeRow;
use scylla::response::PagingState;
use scylla::statement::prepared::PreparedStatement;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// How often a conversation is read that changes from page to page.
const RESTARTS: u32 = 8;

/// A conversation without its messages.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeadRow {
    pub(super) present: Present,
    pub(super) head: Option<Head>,
    pub(super) last_used: i64,
    pub(super) commit_token: Option<i64>,
}

#[derive(DeserializeRow)]
struct ExportedRow {
    kind: Option<i8>,
    number: Option<i64>,
    record: Raw,
    row_token: Option<i64>,
    version: Option<i64>,
    messages: Option<i64>,
    last_used: Option<i64>,
    commit_token: Option<i64>,
    lease: Option<i64>,
}

impl CassandraChatMemoryStore {
    /// The conversation as the last commit left it, one that broke off included.
    pub(super) async fn snapshot(&self, id: &MemoryId) -> Result<Snapshot> {
        let statements = self.client().statements().await?;
        let stored = self.stored::<MemoryRow>(id, &statements.read.latest_rows, None).await?;
        let rows = stored.messages.into_iter().map(|message| (message.number, message.record));
        plan::snapshot(id, stored.head, &rows.collect::<Vec<_>>())
    }

    /// The head and the first `limit` messages; all of the same version.
    pub(super) async fn stored<R>(
        &self,
        id: &MemoryId,
        statement: &PreparedStatement,
        limit: Option<usize>,
    ) -> Result<Stored>
    where
        R: for<'r> DeserializeRow<'r, 'r> + Into<MemoryRow>,
    {
        // The anchor comes first.
        let limit = limit.and_then(|limit| i32::try_from(limit).ok()?.checked_add(1));
        for _ in 0..RESTARTS {
            if let Some(stored) = self.pages::<R>(id, statement, limit.unwrap_or(i32::MAX)).await? {
                return Ok(stored);
            }
        }
        let message =
            format!("the conversation `{id}` was changed again and again while it was read");
        Err(Error::new(ErrorKind::Store, message).with_retryable(true))
    }

    /// As [`stored`](Self::stored); `None` if the conversation changed between two pages.
    async fn pages<R>(
        &self,
        id: &MemoryId,
        statement: &PreparedStatement,
        limit: i32,
    ) -> Result<Option<Stored>>
    where
        R: for<'r> DeserializeRow<'r, 'r> + Into<MemoryRow>,
    {
        let what = "load a conversation";
        let (mut stored, mut next) = (Stored::default(), Some(PagingState::start()));
        while let Some(state) = next {
            let page = self.client().page(what, statement, &(id.as_str(), limit), state).await?;
            let rows = page.0.rows::<R>().map_err(|error| Fault::answer(what, error).error)?;
            for row in rows {
                let row = row.map_err(|error| Fault::answer(what, error).error)?;
                if !stored.push(id, row.into())? {
                    return Ok(None);
                }
            }
            next = page.1;
        }
        Ok(Some(stored))
    }

    /// The head as a statement for it finds it; `None` if there is no such conversation.
    pub(super) async fn head(
        &self,
        id: &MemoryId,
        statement: &PreparedStatement,
    ) -> Result<Option<HeadRow>> {
        type Columns = (Option<i64>, Option<i64>, Option<i64>, Option<i64>, Option<i64>);
        let what = "read the head of a conversation";
        let start = PagingState::start();
        let (rows, _) = self.client().page(what, statement, &(id.as_str(),), start).await?;
        let row = rows.maybe_first_row::<Columns>();
        let Some(row) = row.map_err(|error| Fault::answer(what, error).error)? else {
            return Ok(None);
        };
        let (version, lease, messages, last_used, commit_token) = row;
        let head = head(id, version, messages)?;
        let present = Present { version, lease };
        Ok(Some(HeadRow { present, head, last_used: last_used.unwrap_or(0), commit_token }))
    }

    pub(super) async fn history_page(
        &self,
        id: &MemoryId,
        position: HistoryPosition,
        limit: usize,
    ) -> Result<Vec<HistoryEntry>> {
        // What is in memory first: a message that is evicted between the two is then found twice,
        // and in the other order not at all.
        let mut found = BTreeMap::new();
        for kind in [MESSAGE, EVICTED] {
            for (number, record) in self.numbered(id, kind, position, limit).await? {
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

    /// At most `limit` rows of one kind next to a position.
    async fn numbered(
        &self,
        id: &MemoryId,
        kind: i8,
        position: HistoryPosition,
        limit: usize,
    ) -> Result<Vec<(u64, Raw)>> {
        let statements = self.client().statements().await?;
        let (statement, bound) = match position {
            HistoryPosition::Oldest => (&statements.read.history_after, i64::MIN),
            HistoryPosition::After(after) => (&statements.read.history_after, bigint(after)),
            HistoryPosition::Newest => (&statements.read.history_before, i64::MAX),
            HistoryPosition::Before(before) => (&statements.read.history_before, bigint(before)),
        };
        let limit = i32::try_from(limit).unwrap_or(i32::MAX);
        let what = "read the history of a conversation";
        let (mut found, mut next) = (Vec::new(), Some(PagingState::start()));
        while let Some(state) = next {
            let values = (id.as_str(), kind, bound, limit);
            let page = self.client().page(what, statement, &values, state).await?;
            let rows = page.0.rows::<(i64, Raw)>();
            for row in rows.map_err(|error| Fault::answer(what, error).error)? {
                let (at, record) = row.map_err(|error| Fault::answer(what, error).error)?;
                found.push((number(id, at)?, record));
            }
            next = page.1;
        }
        Ok(found)
    }

    /// Whether anything was kept of what was evicted.
    pub(super) async fn has_history(&self, id: &MemoryId) -> Result<bool> {
        let first = self.numbered(id, EVICTED, HistoryPosition::Oldest, 1).await;
        // A row with an odd number is a row too.
        match first {
            Ok(rows) => Ok(!rows.is_empty()),
            Err(error) if error.detail::<UnreadableRecord>().is_some() => Ok(true),
            Err(error) => Err(error),
        }
    }

    pub(super) async fn exported(&self, id: &MemoryId) -> Result<Vec<RawRecord>> {
        let statements = self.client().statements().await?;
        let what = "export a conversation";
        let (mut found, mut next) = (Vec::new(), Some(PagingState::start()));
        while let Some(state) = next {
            let values = (id.as_str(),);
            let page = self.client().page(what, &statements.read.export, &values, state).await?;
            let rows = page.0.rows::<ExportedRow>();
            for row in rows.map_err(|error| Fault::answer(what, error).error)? {
                let row = row.map_err(|error| Fault::answer(what, error).error)?;
                if found.is_empty() {
                    found.push(RawRecord::new("the head", row.head()));
                }
                if let Some(name) = row.name() {
                    found.push(RawRecord::new(name, row.record.0));
                }
            }
            next = page.1;
        }
        Ok(found)
    }
}

impl ExportedRow {
    /// What the row is; `None` for one that holds nothing of its own.
    fn name(&self) -> Option<String> {
        let (kind, number) = (self.kind?, self.number?);
        match kind {
            MESSAGE => Some(format!("message {number}")),
            EVICTED => Some(format!("evicted message {number}")),
            _ if self.record.0.is_empty() && self.row_token.is_none() => None,
            _ => Some(format!("row {number} of kind {kind}")),
        }
    }

    fn head(&self) -> String {
        let Self { version, messages, last_used, commit_token, lease, .. } = self;
        let columns = [
            ("version", version),
            ("messages", messages),
            ("last_used", last_used),
            ("commit_token", commit_token),
            ("lease", lease),
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
