//! The tables and the prepared statements.
//!
//! ```text
//! chat_messages  id text, kind tinyint, number bigint      primary key; one partition per conversation
//!                record text                               column of a message or a record of a journal
//!                commits blob                              column of the anchor: log of commits
//!                version, messages, last_updated,             static columns of the conversation
//!                lease bigint static
//!                journal text static                       position of the open journal, `turn:length`
//!                journal_updated bigint static             time of the last append
//! chat_meta      name text, value int                      version of this layout
//! ```

use super::session::Client;
use ai_services_core::Result;
use scylla::statement::Consistency;
use scylla::statement::prepared::PreparedStatement;

/// Kind of the anchor: a row that every conversation has before all others. A condition on static columns
/// makes Cassandra search for the first live row, and without the anchor it would scan the tombstones of
/// evicted messages. The anchor contains the log of commits, which as a static column would be returned with
/// every row.
pub(super) const ANCHOR: i8 = 0;

/// Kind of a row in memory.
pub(super) const MESSAGE: i8 = 1;

/// Kind of an evicted row that is kept.
pub(super) const EVICTED: i8 = 2;

/// Kind of a record of the open journal. Its rows are never read with those in memory. The anchor is inserted
/// with the first record, so that a load finds the journal of a conversation without a commit.
pub(super) const JOURNAL: i8 = 3;

/// Number of rows of a page, whatever their size.
const PAGE_ROWS: i32 = 250;

/// All prepared statements.
#[derive(Debug)]
pub(super) struct Statements {
    pub(super) read: Reads,
    pub(super) write: Writes,
}

/// The prepared statements that read.
#[derive(Debug)]
pub(super) struct Reads {
    /// Static columns of a conversation.
    pub(super) head: PreparedStatement,
    /// Serial read of `head`, which first completes unfinished commits.
    pub(super) latest_head: PreparedStatement,
    /// Rows in memory without their records.
    pub(super) numbers: PreparedStatement,
    /// Serial read of `numbers`, which first completes unfinished commits.
    pub(super) latest_numbers: PreparedStatement,
    /// Rows in memory from a number on.
    pub(super) rows_since: PreparedStatement,
    /// Rows in memory.
    pub(super) rows: PreparedStatement,
    /// Serial read of `rows`, which first completes unfinished commits.
    pub(super) latest_rows: PreparedStatement,
    /// Serial read of the anchor and the records of the journal.
    pub(super) journal: PreparedStatement,
    /// Serial read of the newest record of the journal, which first completes unfinished appends.
    pub(super) newest_record: PreparedStatement,
    pub(super) history_after: PreparedStatement,
    pub(super) history_before: PreparedStatement,
    pub(super) export: PreparedStatement,
    pub(super) list: PreparedStatement,
    pub(super) list_from: PreparedStatement,
}

/// The prepared statements that write.
#[derive(Debug)]
pub(super) struct Writes {
    pub(super) commit: PreparedStatement,
    pub(super) commit_under_lease: PreparedStatement,
    /// Commit that also requires a position of the journal, and removes it.
    pub(super) closing_commit: PreparedStatement,
    pub(super) closing_commit_under_lease: PreparedStatement,
    /// Makes a batch conditional without changing data.
    pub(super) guard: PreparedStatement,
    pub(super) guard_under_lease: PreparedStatement,
    pub(super) anchor: PreparedStatement,
    pub(super) insert: PreparedStatement,
    /// Deletion of a range of rows. Compaction merges ranges: each begins at the previous live row, so that
    /// the range of a moving window covers those of all earlier turns.
    pub(super) evict: PreparedStatement,
    pub(super) append: PreparedStatement,
    pub(super) append_under_lease: PreparedStatement,
    /// Insertion of the anchor, which keeps the log of commits.
    pub(super) open: PreparedStatement,
    pub(super) discard: PreparedStatement,
    /// Deletion of all rows of one kind.
    pub(super) delete_kind: PreparedStatement,
    pub(super) delete_head: PreparedStatement,
    pub(super) delete_unchanged_head: PreparedStatement,
    pub(super) delete: PreparedStatement,
    pub(super) acquire: PreparedStatement,
    pub(super) release: PreparedStatement,
}

impl Statements {
    pub(super) async fn prepare(client: &Client) -> Result<Self> {
        let (read, write) = (Reads::prepare(client).await?, Writes::prepare(client).await?);
        Ok(Self { read, write })
    }
}

impl Reads {
    async fn prepare(client: &Client) -> Result<Self> {
        let table = client.names().table();
        let read = |columns: &str, rest: &str| {
            let text = format!("SELECT {columns} FROM {table} {rest}");
            async move { client.prepare(text).await.map(with_pages) }
        };
        let latest = |mut statement: PreparedStatement| {
            statement.set_consistency(if client.is_local() {
                Consistency::LocalSerial
            } else {
                Consistency::Serial
            });
            statement
        };
        let one = "WHERE id = ? LIMIT 1";
        let in_memory = "WHERE id = ? AND kind < 2 LIMIT ?";
        let after = "WHERE id = ? AND kind = ? AND number > ? LIMIT ?";
        let before =
            "WHERE id = ? AND kind = ? AND number < ? ORDER BY kind DESC, number DESC LIMIT ?";
        let row = "kind, number, version, messages, commits, journal";
        let listed = "DISTINCT id, version, messages, last_updated, journal, journal_updated";
        let all = "kind, number, record, commits, version, messages, last_updated, lease, journal, \
                   journal_updated";
        let journal = "WHERE id = ? AND kind IN (0, 3)";
        let newest = "WHERE id = ? AND kind = 3 ORDER BY kind DESC, number DESC LIMIT 1";
        let head = read("version, lease, messages, last_updated, commits, journal", one).await?;
        let numbers = read(row, in_memory).await?;
        let with_record = format!("{row}, record");
        let rows = read(&with_record, in_memory).await?;
        Ok(Self {
            latest_head: latest(head.clone()),
            head,
            latest_numbers: latest(numbers.clone()),
            numbers,
            rows_since: read(&with_record, "WHERE id = ? AND kind = 1 AND number >= ?").await?,
            latest_rows: latest(rows.clone()),
            rows,
            journal: latest(read("kind, number, record, journal", journal).await?),
            newest_record: latest(read("journal, record", newest).await?),
            history_after: read("number, record", after).await?,
            history_before: read("number, record", before).await?,
            export: read(all, "WHERE id = ?").await?,
            list: read(listed, "").await?,
            list_from: read(listed, "WHERE token(id) >= token(?)").await?,
        })
    }
}

impl Writes {
    async fn prepare(client: &Client) -> Result<Self> {
        let table = client.names().table();
        let update = |assignments: &str, condition: &str| {
            client.prepare(format!("UPDATE {table} {assignments} WHERE id = ? IF {condition}"))
        };
        let insert = |values: &str| client.prepare(format!("INSERT INTO {table} {values}"));
        let delete = |columns: &str, rest: &str| {
            client.prepare(format!("DELETE {columns} FROM {table} WHERE id = ?{rest}"))
        };
        let head = "version, messages, last_updated, lease";
        let unchanged = " IF version = ? AND lease = null AND journal = ?";
        let new_head = "SET version = ?, messages = ?, last_updated = ?";
        let no_lease = format!("{new_head}, lease = null");
        let no_journal = "journal = null, journal_updated = null";
        let (closing, closing_no_lease) =
            (format!("{new_head}, {no_journal}"), format!("{no_lease}, {no_journal}"));
        let append = "SET journal = ?, journal_updated = ?";
        let discard = format!("SET {no_journal}");
        Ok(Self {
            commit: update(new_head, "version = ?").await?,
            commit_under_lease: update(&no_lease, "version = ? AND lease = ?").await?,
            closing_commit: update(&closing, "version = ? AND journal = ?").await?,
            closing_commit_under_lease: update(
                &closing_no_lease,
                "version = ? AND lease = ? AND journal = ?",
            )
            .await?,
            append: update(append, "journal = ?").await?,
            append_under_lease: update(append, "journal = ? AND lease = ?").await?,
            open: insert("(id, kind, number) VALUES (?, 0, 0)").await?,
            discard: update(&discard, "journal = ? AND version = ?").await?,
            delete_kind: delete("", " AND kind = ?").await?,
            guard: update("SET version = ?", "version = ?").await?,
            guard_under_lease: update("SET version = ?", "version = ? AND lease = ?").await?,
            anchor: insert("(id, kind, number, commits) VALUES (?, 0, 0, ?)").await?,
            insert: insert("(id, kind, number, record) VALUES (?, ?, ?, ?)").await?,
            evict: delete("", " AND kind = 1 AND number > ? AND number <= ?").await?,
            delete_head: delete(head, " IF version != ?").await?,
            delete_unchanged_head: delete(head, unchanged).await?,
            delete: delete("", "").await?,
            acquire: update("USING TTL ? SET lease = ?", "lease IN (null, ?)").await?,
            release: update("SET lease = null", "lease = ?").await?,
        })
    }
}

fn with_pages(mut statement: PreparedStatement) -> PreparedStatement {
    statement.set_page_size(PAGE_ROWS);
    statement
}
