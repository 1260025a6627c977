//! The SQL statements. They contain the table names; all values are parameters.
//!
//! `key` is the SHA-256 of the id, because an index entry has at most 2704 bytes and an id up to 8 KiB. The
//! parameter `$1` is the id unless stated otherwise.

use super::commit_sql::{CommitSql, KEEP_EVICTED};
use super::journal_sql::JournalSql;
use super::table_names::{TableNames, replace_all};

/// The statements of one store.
#[derive(Debug)]
pub(super) struct Sql {
    pub(super) load: String,
    pub(super) load_since: String,
    pub(super) lock: String,
    pub(super) rows: String,
    pub(super) commit: CommitSql,
    pub(super) closing_commit: CommitSql,
    pub(super) refusal_reason: String,
    pub(super) commits: String,
    pub(super) delete_head: String,
    pub(super) delete_unused_heads: String,
    pub(super) delete_unused_journals: String,
    pub(super) delete_rows: String,
    pub(super) delete_ended_leases: String,
    pub(super) last_uses: String,
    pub(super) conversation: String,
    pub(super) conversations: String,
    pub(super) history_forward: String,
    pub(super) history_backward: String,
    pub(super) export: String,
    pub(super) acquire: String,
    pub(super) release: String,
    pub(super) journals: JournalSql,
}

impl Sql {
    pub(super) fn new(tables: &TableNames, keeps_evicted: bool) -> Self {
        let fill = |statement: &str| tables.fill(statement);
        let keep_evicted = if keeps_evicted { KEEP_EVICTED } else { "" };
        let load = |statement: &str| {
            let parts =
                [("{is_second}", IS_SECOND), ("{is_oldest}", IS_OLDEST), ("{position}", POSITION)];
            fill(&replace_all(statement, parts))
        };
        Self {
            load: load(LOAD),
            load_since: load(LOAD_SINCE),
            lock: fill(LOCK),
            rows: load(ROWS),
            commit: CommitSql::new(tables, keep_evicted, false),
            closing_commit: CommitSql::new(tables, keep_evicted, true),
            refusal_reason: fill(REFUSAL_REASON),
            commits: fill(COMMITS),
            delete_head: fill(DELETE_HEAD),
            delete_unused_heads: fill(DELETE_UNUSED_HEADS),
            delete_unused_journals: fill(DELETE_UNUSED_JOURNALS),
            delete_rows: fill(DELETE_ROWS),
            delete_ended_leases: fill(DELETE_ENDED_LEASES),
            last_uses: fill(LAST_USES),
            conversation: fill(
                &CONVERSATIONS.replace("{which}", "key = sha256($1)").replace("{order}", ""),
            ),
            conversations: fill(
                &CONVERSATIONS
                    .replace("{which}", "key > coalesce(sha256($1), '')")
                    .replace("{order}", "ORDER BY key LIMIT $2"),
            ),
            history_forward: fill(&HISTORY.replace("{is}", ">").replace("{order}", "ASC")),
            history_backward: fill(&HISTORY.replace("{is}", "<").replace("{order}", "DESC")),
            export: fill(EXPORT),
            acquire: fill(ACQUIRE),
            release: fill(RELEASE),
            journals: JournalSql::new(tables),
        }
    }
}

/// Reads head, messages and the position of the journal in one statement, so that they are consistent. The rows
/// are sorted by the client: the server would have to move the texts while sorting.
const LOAD: &str = "\
WITH head AS MATERIALIZED (\
    SELECT version, messages, commits, id = $1 AS is_own, oldest, second_oldest \
    FROM {conversations} WHERE key = sha256($1)\
) \
SELECT NULL::bigint AS number, version, messages, commits, is_own, NULL::text AS record, \
    NULL::uuid AS turn FROM head \
UNION ALL \
SELECT number, NULL, NULL, NULL, NULL, record, NULL FROM {messages} WHERE {is_second} \
UNION ALL \
SELECT number, NULL, NULL, NULL, NULL, record, NULL FROM {messages} WHERE {is_oldest} \
UNION ALL {position}";

/// Part of each load that reads the position of the open journal: its length in the column of the version.
const POSITION: &str =
    "SELECT NULL, length, NULL, NULL, NULL, NULL, turn FROM {journals} WHERE key = sha256($1)";

/// Conditions for the rows in memory, with a `head` that has the bounds of their numbers: all rows from the
/// second oldest one on, and the oldest one if evicted rows follow it.
///
/// A scan of all rows of the key would visit the rows that were evicted since the last vacuum. The bounds are
/// never higher than the numbers, but may be lower, because not every commit updates them. Two of them are
/// necessary, because a system message stays in front of the evicted rows.
const IS_SECOND: &str =
    "key = sha256($1) AND number >= coalesce((SELECT second_oldest FROM head), 0)";
const IS_OLDEST: &str = "key = sha256($1) AND number = \
    (SELECT oldest FROM head WHERE oldest < second_oldest)";

/// Reads the head, the newest messages, the numbers of the oldest messages, without records, and the position.
/// Parameters: id, first of the newest numbers, and lower bounds of the two oldest ones. A scan from a lower bound
/// does not visit the rows that were evicted before, since the last vacuum.
const LOAD_SINCE: &str = "\
SELECT NULL::bigint AS number, version, messages, commits, id = $1 AS is_own, NULL::text AS record, \
    NULL::uuid AS turn FROM {conversations} WHERE key = sha256($1) \
UNION ALL \
SELECT number, NULL, NULL, NULL, NULL, record, NULL FROM {messages} \
    WHERE key = sha256($1) AND number >= $2 \
UNION ALL \
(SELECT number, NULL, NULL, NULL, NULL, NULL, NULL FROM {messages} \
    WHERE key = sha256($1) AND number >= $3 ORDER BY number LIMIT 1) \
UNION ALL \
(SELECT number, NULL, NULL, NULL, NULL, NULL, NULL FROM {messages} \
    WHERE key = sha256($1) AND number >= $4 ORDER BY number LIMIT 1) \
UNION ALL {position}";

/// Reads the head and locks it until the transaction ends.
const LOCK: &str = "\
SELECT version, messages, commits, id = $1 AS is_own FROM {conversations} WHERE key = sha256($1) FOR UPDATE";

/// Reads the rows in memory.
const ROWS: &str = "\
WITH head AS MATERIALIZED (\
    SELECT oldest, second_oldest FROM {conversations} WHERE key = sha256($1)\
) \
SELECT number, record FROM {messages} WHERE {is_second} \
UNION ALL \
SELECT number, record FROM {messages} WHERE {is_oldest} ORDER BY number";

/// Reads the reason why a commit was refused. Returns one row. Parameters: id, lease or null.
const REFUSAL_REASON: &str = "\
SELECT head.version, head.commits, journal.turn, journal.length, $2::bigint IS NULL OR EXISTS (SELECT FROM {leases} \
        WHERE key = sha256($1) AND token = $2 AND ends > clock_timestamp()) AS is_leased \
FROM (SELECT) AS always LEFT JOIN {conversations} AS head ON head.key = sha256($1) \
    LEFT JOIN {journals} AS journal ON journal.key = sha256($1)";

/// Reads the log of commits.
const COMMITS: &str = "SELECT commits FROM {conversations} WHERE key = sha256($1)";

/// Deletes the heads of a conversation and its journal. Returns the key, whether or not they existed.
const DELETE_HEAD: &str = "\
WITH journal AS (\
    DELETE FROM {journals} WHERE key = sha256($1)\
), head AS (\
    DELETE FROM {conversations} WHERE key = sha256($1)\
) SELECT sha256($1) AS key";

/// Deletes unused heads, unless their journal is in use. Parameters: keys, time. The server re-evaluates rows
/// that were changed in the meantime, so these stay.
const DELETE_UNUSED_HEADS: &str = "\
DELETE FROM {conversations} WHERE key = ANY ($1::bytea[]) AND last_updated < $2 \
    AND NOT EXISTS (SELECT FROM {journals} \
        WHERE {journals}.key = {conversations}.key AND {journals}.last_updated >= $2) \
RETURNING key";

/// Deletes the heads of unused journals, after their conversations. Parameters: keys, time.
const DELETE_UNUSED_JOURNALS: &str = "\
DELETE FROM {journals} WHERE key = ANY ($1::bytea[]) AND last_updated < $2 \
    AND NOT EXISTS (SELECT FROM {conversations} WHERE {conversations}.key = {journals}.key) \
RETURNING key";

/// Deletes the rows of deleted heads. Parameter: keys.
///
/// Must be a separate statement after the deletion of the heads, so that it sees the rows of commits and
/// appends for which that deletion has waited. Skips keys that have a head again: that conversation, or that
/// journal, was created in the meantime.
const DELETE_ROWS: &str = "\
WITH gone AS (\
    SELECT key FROM unnest($1::bytea[]) AS all_of (key) \
    WHERE NOT EXISTS (SELECT FROM {conversations} WHERE {conversations}.key = all_of.key)\
), closed AS (\
    SELECT key FROM unnest($1::bytea[]) AS all_of (key) \
    WHERE NOT EXISTS (SELECT FROM {journals} WHERE {journals}.key = all_of.key)\
), current AS (\
    DELETE FROM {messages} USING gone WHERE {messages}.key = gone.key\
), kept AS (\
    DELETE FROM {history} USING gone WHERE {history}.key = gone.key\
), removed AS (\
    DELETE FROM {journal_rows} USING closed WHERE {journal_rows}.key = closed.key\
) SELECT";

/// Deletes expired leases.
const DELETE_ENDED_LEASES: &str =
    "DELETE FROM {leases} WHERE ends < clock_timestamp() OR begins > clock_timestamp()";

/// Reads a page of the last writes of conversations and journals. Parameters: the last key of the previous page,
/// time, limit.
const LAST_USES: &str = "\
SELECT key, max(last_updated) < $2 AS is_unused FROM (\
    (SELECT key, last_updated FROM {conversations} WHERE key > $1 ORDER BY key LIMIT $3) \
    UNION ALL \
    (SELECT key, last_updated FROM {journals} WHERE key > $1 ORDER BY key LIMIT $3)\
) AS written GROUP BY key ORDER BY key LIMIT $3";

/// Reads conversations that have messages or history.
const CONVERSATIONS: &str = "\
SELECT id, key = sha256(id) AS is_own, messages, last_updated FROM {conversations} \
WHERE {which} AND (messages <> 0 \
    OR EXISTS (SELECT FROM {history} WHERE {history}.key = {conversations}.key)) {order}";

/// Reads a page of the history, in one direction. Parameters: id, number, limit.
const HISTORY: &str = "\
SELECT number, is_evicted, record FROM (\
    (SELECT number, false AS is_evicted, record FROM {messages} \
        WHERE key = sha256($1) AND number {is} $2 ORDER BY number {order} LIMIT $3) \
    UNION ALL \
    (SELECT number, true, record FROM {history} \
        WHERE key = sha256($1) AND number {is} $2 ORDER BY number {order} LIMIT $3)\
) AS page ORDER BY number {order} LIMIT $3";

/// Reads all rows of a conversation and its journal as raw text or bytes, to be sorted by part and number.
const EXPORT: &str = "\
SELECT 'the head' AS row, 0 AS part, 0::bigint AS number, row_to_json(head)::text AS record, NULL::bytea AS data \
    FROM {conversations} AS head WHERE key = sha256($1) \
UNION ALL \
SELECT 'evicted message ' || number, 0, number, record, NULL FROM {history} WHERE key = sha256($1) \
UNION ALL \
SELECT 'message ' || number, 0, number, record, NULL FROM {messages} WHERE key = sha256($1) \
UNION ALL \
SELECT 'the journal', 1, 0, row_to_json(journal)::text, NULL \
    FROM {journals} AS journal WHERE key = sha256($1) \
UNION ALL \
SELECT 'journal record ' || number, 1, number, NULL, record \
    FROM {journal_rows} WHERE key = sha256($1)";

/// Acquires or extends a lease. Parameters: id, token, seconds.
///
/// A lease that begins in the future counts as expired: the server's clock was set back.
const ACQUIRE: &str = "\
INSERT INTO {leases} AS held (key, token, begins, ends) \
SELECT sha256($1), $2, now, now + $3::float8 * interval '1 second' FROM clock_timestamp() AS now \
ON CONFLICT (key) DO UPDATE \
    SET token = excluded.token, begins = excluded.begins, ends = excluded.ends \
WHERE held.token = excluded.token \
    OR held.ends <= excluded.begins OR held.begins > clock_timestamp()";

/// Releases a lease. Parameters: id, token.
const RELEASE: &str = "DELETE FROM {leases} WHERE key = sha256($1) AND token = $2";
