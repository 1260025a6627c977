//! The SQL statements of journals.
//!
//! The row lock on the head of a journal protects its position and its rows. Every write names turn and length:
//! an append updates the head, a discard deletes it, and a closing commit locks it. A write that has waited for
//! another one finds that the position has changed. The rest of the statement sees the rows from before the
//! wait, which is safe: it only has an effect if the position was the same before and after the wait, so that
//! the rows are unchanged. Of two writers that open a journal, the primary key stops the second one.
//!
//! Locks are taken in the order lease, journal, conversation. The parameter `$1` is the id.

use super::commit_sql::{CHECK_LEASE, MAY_WRITE};
use super::table_names::{TableNames, replace_all};

/// The statements of journals.
#[derive(Debug)]
pub(super) struct JournalSql {
    pub(super) open: String,
    pub(super) append: String,
    pub(super) refusal_reason: String,
    pub(super) discard: String,
    pub(super) read: String,
    pub(super) list: String,
    pub(super) lock: String,
    pub(super) lock_all: String,
}

impl JournalSql {
    pub(super) fn new(tables: &TableNames) -> Self {
        let fill = |statement: &str| {
            let parts = [
                ("{check_lease}", CHECK_LEASE),
                ("{may_write}", MAY_WRITE),
                ("{insert_rows}", INSERT_ROWS),
            ];
            tables.fill(&replace_all(statement, parts))
        };
        Self {
            open: fill(OPEN),
            append: fill(APPEND),
            refusal_reason: fill(REFUSAL_REASON),
            discard: fill(DISCARD),
            read: fill(READ),
            list: fill(LIST),
            lock: fill(LOCK),
            lock_all: fill(LOCK_ALL),
        }
    }
}

/// Opens a journal. Returns one row if it was opened, otherwise none. Parameters: id, lease or null, turn, time,
/// numbers, records.
const OPEN: &str = "\
{check_lease}head AS (\
    INSERT INTO {journals} (key, id, turn, length, last_updated) \
    SELECT sha256($1), $1, $3::text::uuid, cardinality($5::bigint[]), $4 WHERE {may_write} \
    ON CONFLICT (key) DO NOTHING RETURNING key\
), {insert_rows}";

/// Appends to a journal. Returns one row if its position was the expected one, otherwise none. Parameters: those
/// of the first append, then the expected length.
const APPEND: &str = "\
{check_lease}head AS (\
    UPDATE {journals} SET length = length + cardinality($5::bigint[]), last_updated = $4 \
    WHERE key = sha256($1) AND turn = $3::text::uuid AND length = $7 AND {may_write} RETURNING key\
), {insert_rows}";

/// Last part of each append: inserts the rows, if the head was written.
const INSERT_ROWS: &str = "\
added AS (\
    INSERT INTO {journal_rows} (key, number, record) \
    SELECT head.key, new.number, new.record \
    FROM head, unnest($5::bigint[], $6::bytea[]) AS new (number, record)\
) SELECT FROM head";

/// Reads the reason why an append was refused. Returns one row. Parameters: id, lease or null.
const REFUSAL_REASON: &str = "\
SELECT journal.turn, journal.length, newest.record, $2::bigint IS NULL OR EXISTS (SELECT FROM {leases} \
        WHERE key = sha256($1) AND token = $2 AND ends > clock_timestamp()) AS is_leased \
FROM (SELECT) AS always LEFT JOIN {journals} AS journal ON journal.key = sha256($1) \
    LEFT JOIN {journal_rows} AS newest ON newest.key = sha256($1) AND newest.number = journal.length";

/// Deletes a journal. Returns one row if its position was the expected one, otherwise none. Parameters: id, turn,
/// length.
const DISCARD: &str = "\
WITH head AS (\
    DELETE FROM {journals} \
    WHERE key = sha256($1) AND turn = $2::text::uuid AND length = $3 RETURNING key\
), removed AS (\
    DELETE FROM {journal_rows} USING head WHERE {journal_rows}.key = head.key\
) SELECT FROM head";

/// Reads head and rows in one statement, so that they are consistent.
const READ: &str = "\
SELECT turn, length, NULL::bigint AS number, NULL::bytea AS record \
    FROM {journals} WHERE key = sha256($1) \
UNION ALL \
SELECT NULL, NULL, number, record FROM {journal_rows} WHERE key = sha256($1)";

/// Reads a page of open journals. Parameters: the last id of the previous page or null, limit.
const LIST: &str = "\
SELECT id, key = sha256(id) AS is_own, turn, length, last_updated FROM {journals} \
WHERE key > coalesce(sha256($1), '') ORDER BY key LIMIT $2";

/// Locks the head until the transaction ends, before the transaction locks that of the conversation.
const LOCK: &str = "SELECT FROM {journals} WHERE key = sha256($1) FOR UPDATE";

/// Locks the heads of several journals until the transaction ends. Parameter: keys.
const LOCK_ALL: &str =
    "SELECT FROM {journals} WHERE key = ANY ($1::bytea[]) ORDER BY key FOR UPDATE";
