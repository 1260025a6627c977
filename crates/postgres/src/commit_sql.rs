//! The SQL statements of commits.

use super::table_names::{TableNames, replace_all};
use ai_services_core::store_kit::commits::MAX_LOG_BYTES;

/// The statements of commits, with or without the deletion of a journal.
#[derive(Debug)]
pub(super) struct CommitSql {
    pub(super) begin_conversation: String,
    pub(super) advance: String,
    pub(super) advance_numbered: String,
}

impl CommitSql {
    pub(super) fn new(tables: &TableNames, keep_evicted: &str, closes_journal: bool) -> Self {
        let (lock, is_open, close) =
            if closes_journal { (LOCK_POSITION, IS_OPEN, CLOSE_JOURNAL) } else { ("", "", "") };
        let log_bytes = &MAX_LOG_BYTES.to_string();
        // The position of the journal follows the other parameters.
        let commit = |statement: &str, parameters: usize| {
            let statement = replace_all(
                statement,
                [
                    ("{check_lease}", CHECK_LEASE),
                    ("{lock_position}", lock),
                    ("{may_write}", MAY_WRITE),
                    ("{is_open}", is_open),
                    ("{keep_evicted}", keep_evicted),
                    ("{append_rows}", APPEND_ROWS),
                    ("{close_journal}", close),
                    ("{set_bounds}", SET_BOUNDS),
                    ("{log_bytes}", log_bytes),
                ],
            );
            let position = [("{turn}", parameters + 1), ("{length}", parameters + 2)];
            let position = position.map(|(name, number)| (name.to_owned(), format!("${number}")));
            tables.fill(&replace_all(&statement, position))
        };
        Self {
            begin_conversation: commit(BEGIN_CONVERSATION, 7),
            advance: commit(ADVANCE, 13),
            advance_numbered: commit(ADVANCE_NUMBERED, 13),
        }
    }
}

/// First part of each commit: selects the lease that the commit requires, if it is held.
pub(super) const CHECK_LEASE: &str = "\
WITH lease AS (\
    SELECT FROM {leases} \
    WHERE key = sha256($1) AND token = $2 AND ends > clock_timestamp() FOR UPDATE\
), ";

/// Condition of each commit: its lease is held.
pub(super) const MAY_WRITE: &str = "($2::bigint IS NULL OR EXISTS (SELECT FROM lease))";

/// Part of a closing commit that locks the head of the journal, if it has the position of the commit.
///
/// A commit that waits for an append or a deletion on this lock finds another position, or no head. If the
/// position was the same before and after the wait, the records are unchanged, too.
const LOCK_POSITION: &str = "\
journal AS (\
    SELECT FROM {journals} \
    WHERE key = sha256($1) AND turn = {turn}::text::uuid AND length = {length} FOR UPDATE\
), ";

/// Condition of a closing commit: the journal has its position.
const IS_OPEN: &str = " AND EXISTS (SELECT FROM journal)";

/// Part of a closing commit that deletes the journal, if the head was written.
const CLOSE_JOURNAL: &str = ", closed AS (\
    DELETE FROM {journals} USING head WHERE {journals}.key = head.key\
), removed AS (\
    DELETE FROM {journal_rows} USING head WHERE {journal_rows}.key = head.key\
)";

/// Last part of each commit: appends the rows and releases the lease, if the head was written.
const APPEND_ROWS: &str = "\
added AS (\
    INSERT INTO {messages} (key, number, record) \
    SELECT head.key, new.number, new.record \
    FROM head, unnest($6::bigint[], $7::text[]) AS new (number, record)\
), released AS (\
    DELETE FROM {leases} USING head WHERE {leases}.key = head.key AND {leases}.token = $2\
){close_journal} SELECT FROM head";

/// The first commit of a conversation. Returns one row if it was applied, otherwise none. Parameters: id,
/// lease or null, new version, last use, entry of the log of commits, numbers, records; if it closes a
/// journal, turn and length.
///
/// Two concurrent first commits conflict on the primary key. Messages without a head are damage.
const BEGIN_CONVERSATION: &str = "\
{check_lease}{lock_position}head AS (\
    INSERT INTO {conversations} (key, id, version, messages, last_updated, commits) \
    SELECT sha256($1), $1, $3, cardinality($6::bigint[]), $4, $5 \
    WHERE {may_write}{is_open} \
        AND NOT EXISTS (SELECT FROM {messages} WHERE key = sha256($1)) \
        AND NOT EXISTS (SELECT FROM {history} WHERE key = sha256($1)) \
    ON CONFLICT (key) DO NOTHING RETURNING key\
), {append_rows}";

/// A later commit. Returns one row if it was applied, otherwise none. Parameters: those of the first commit,
/// then the expected version, the new bounds of the numbers in memory or null, the start and the end of the
/// evicted positions, and the evicted numbers.
///
/// A commit that waits for another commit on the lock of the head finds that the version has changed. The
/// rest of the statement sees the rows from before the wait, which is safe: it only has an effect if the head
/// had the expected version before and after the wait, so that the rows are unchanged.
///
/// The entry of the log ends with a hash of the request, which must not be in the log already.
const ADVANCE: &str = "\
{check_lease}{lock_position}gone AS MATERIALIZED (\
    (SELECT number FROM {messages} WHERE key = sha256($1) \
        ORDER BY number OFFSET $11 LIMIT greatest(0, $12::bigint - $11::bigint)) \
    UNION ALL \
    SELECT number FROM {messages} WHERE key = sha256($1) AND number = ANY ($13::bigint[])\
), head AS (\
    UPDATE {conversations} SET version = $3, last_updated = $4, \
        commits = substr($5::bytea || commits, 1, {log_bytes}), \
        {set_bounds}, \
        messages = messages - (SELECT count(*) FROM gone) + cardinality($6::bigint[]) \
    WHERE key = sha256($1) AND id = $1 AND version = $8 \
        AND position(substr($5::bytea, 17) in commits) = 0 \
        AND {may_write}{is_open} \
        AND (SELECT count(*) FROM gone) = \
            greatest(0, least($12, messages) - $11) + cardinality($13::bigint[]) \
    RETURNING key\
), evicted AS (\
    DELETE FROM {messages} USING head, gone \
    WHERE {messages}.key = head.key AND {messages}.number = gone.number \
    RETURNING {messages}.key, {messages}.number, {messages}.record\
){keep_evicted}, {append_rows}";

/// A later commit whose evicted rows are known by number, because the caller has loaded them. Returns one row
/// if it was applied, otherwise none. Parameters: those of the first commit, then the expected version, the
/// new bounds of the numbers in memory, the first and the last evicted number, and the number of rows between
/// them.
///
/// This is the usual statement. A range does not require an estimate of the length of an array or a limit, so
/// the server reuses a generic plan. For [`ADVANCE`] it would plan each execution, which takes longer than
/// the execution. A range also avoids scanning the rows that were evicted since the last vacuum.
const ADVANCE_NUMBERED: &str = "\
{check_lease}{lock_position}head AS (\
    UPDATE {conversations} SET version = $3, last_updated = $4, \
        commits = substr($5::bytea || commits, 1, {log_bytes}), \
        {set_bounds}, \
        messages = messages - $13 + cardinality($6::bigint[]) \
    WHERE key = sha256($1) AND id = $1 AND version = $8 \
        AND position(substr($5::bytea, 17) in commits) = 0 \
        AND {may_write}{is_open} \
        AND (SELECT count(*) FROM {messages} \
            WHERE key = sha256($1) AND number BETWEEN $11 AND $12) = $13::bigint \
    RETURNING key\
), evicted AS (\
    DELETE FROM {messages} USING head \
    WHERE {messages}.key = head.key AND {messages}.number BETWEEN $11 AND $12 \
    RETURNING {messages}.key, {messages}.number, {messages}.record\
){keep_evicted}, {append_rows}";

/// Part of a commit that updates the bounds of the numbers in memory.
const SET_BOUNDS: &str = "\
oldest = coalesce($9::bigint, oldest), second_oldest = coalesce($10::bigint, second_oldest)";

/// Part of a commit that copies the evicted rows to the history.
pub(super) const KEEP_EVICTED: &str = ", kept AS (\
    INSERT INTO {history} (key, number, record) \
    SELECT key, number, record FROM evicted\
)";
