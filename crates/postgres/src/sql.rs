//! The SQL statements. They contain the table names; all values are parameters.
//!
//! `key` is the SHA-256 of the id, because an index entry has at most 2704 bytes and an id up to 8 KiB. The
//! parameter `$1` is the id unless stated otherwise.

use ai_services_core::store_kit::commits::MAX_LOG_BYTES;

/// The statements of one store.
#[derive(Debug)]
pub(super) struct Sql {
    pub(super) load: String,
    pub(super) load_since: String,
    pub(super) lock: String,
    pub(super) rows: String,
    pub(super) begin_conversation: String,
    pub(super) advance: String,
    pub(super) advance_numbered: String,
    pub(super) refusal_reason: String,
    pub(super) commits: String,
    pub(super) delete_head: String,
    pub(super) delete_unused_heads: String,
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
}

/// Schema and prefix of the table names.
#[derive(Clone, Debug)]
pub(super) struct TableNames {
    pub(super) schema: Option<String>,
    pub(super) prefix: String,
}

impl TableNames {
    /// Returns the qualified name of a table. The names were validated; the quotes allow a schema whose name
    /// is a keyword.
    pub(super) fn name(&self, table: &str) -> String {
        let prefix = &self.prefix;
        match &self.schema {
            Some(schema) => format!("\"{schema}\".{prefix}_{table}"),
            None => format!("{prefix}_{table}"),
        }
    }

    /// Replaces placeholders such as `{messages}` in a statement by the names of the tables.
    pub(super) fn fill(&self, statement: &str) -> String {
        let tables = ["conversations", "messages", "history", "leases", "layout"];
        replace_all(statement, tables.map(|table| (format!("{{{table}}}"), self.name(table))))
    }
}

impl Sql {
    pub(super) fn new(tables: &TableNames, keeps_evicted: bool) -> Self {
        let fill = |statement: &str| tables.fill(statement);
        let keep_evicted = if keeps_evicted { KEEP_EVICTED } else { "" };
        let log_bytes = &MAX_LOG_BYTES.to_string();
        let commit = |statement: &str| {
            fill(&replace_all(
                statement,
                [
                    ("{check_lease}", CHECK_LEASE),
                    ("{keep_evicted}", keep_evicted),
                    ("{append_rows}", APPEND_ROWS),
                    ("{set_bounds}", SET_BOUNDS),
                    ("{log_bytes}", log_bytes),
                ],
            ))
        };
        let load = |statement: &str| {
            let parts = [("{is_second}", IS_SECOND), ("{is_oldest}", IS_OLDEST)];
            fill(&replace_all(statement, parts))
        };
        Self {
            load: load(LOAD),
            load_since: fill(LOAD_SINCE),
            lock: fill(LOCK),
            rows: load(ROWS),
            begin_conversation: commit(BEGIN_CONVERSATION),
            advance: commit(ADVANCE),
            advance_numbered: commit(ADVANCE_NUMBERED),
            refusal_reason: fill(REFUSAL_REASON),
            commits: fill(COMMITS),
            delete_head: fill(DELETE_HEAD),
            delete_unused_heads: fill(DELETE_UNUSED_HEADS),
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
        }
    }
}

/// Replaces each name by its part.
fn replace_all<T: AsRef<str>>(statement: &str, parts: impl IntoIterator<Item = (T, T)>) -> String {
    let parts = parts.into_iter();
    parts.fold(statement.to_owned(), |sql, (name, part)| sql.replace(name.as_ref(), part.as_ref()))
}

/// Reads head and messages in one statement, so that they are consistent. The rows are sorted by the client:
/// the server would have to move the texts while sorting.
const LOAD: &str = "\
WITH head AS MATERIALIZED (\
    SELECT version, messages, commits, id = $1 AS is_own, oldest, second_oldest \
    FROM {conversations} WHERE key = sha256($1)\
) \
SELECT NULL::bigint AS number, version, messages, commits, is_own, NULL::text AS record FROM head \
UNION ALL \
SELECT number, NULL, NULL, NULL, NULL, record FROM {messages} WHERE {is_second} \
UNION ALL \
SELECT number, NULL, NULL, NULL, NULL, record FROM {messages} WHERE {is_oldest}";

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

/// Reads the head, the newest messages, and the numbers of the oldest messages, without records. Parameters:
/// id, first of the newest numbers, and lower bounds of the two oldest ones. A scan from a lower bound does not
/// visit the rows that were evicted before, since the last vacuum.
const LOAD_SINCE: &str = "\
SELECT NULL::bigint AS number, version, messages, commits, id = $1 AS is_own, NULL::text AS record \
    FROM {conversations} WHERE key = sha256($1) \
UNION ALL \
SELECT number, NULL, NULL, NULL, NULL, record FROM {messages} \
    WHERE key = sha256($1) AND number >= $2 \
UNION ALL \
(SELECT number, NULL, NULL, NULL, NULL, NULL FROM {messages} \
    WHERE key = sha256($1) AND number >= $3 ORDER BY number LIMIT 1) \
UNION ALL \
(SELECT number, NULL, NULL, NULL, NULL, NULL FROM {messages} \
    WHERE key = sha256($1) AND number >= $4 ORDER BY number LIMIT 1)";

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

/// First part of each commit: selects the lease that the commit requires, if it is held.
const CHECK_LEASE: &str = "\
WITH lease AS (\
    SELECT FROM {leases} \
    WHERE key = sha256($1) AND token = $2 AND ends > clock_timestamp() FOR UPDATE\
), ";

/// Last part of each commit: appends the rows and releases the lease, if the head was written.
const APPEND_ROWS: &str = "\
added AS (\
    INSERT INTO {messages} (key, number, record) \
    SELECT head.key, new.number, new.record \
    FROM head, unnest($6::bigint[], $7::text[]) AS new (number, record)\
), released AS (\
    DELETE FROM {leases} USING head WHERE {leases}.key = head.key AND {leases}.token = $2\
) SELECT FROM head";

/// The first commit of a conversation. Returns one row if it was applied, otherwise none. Parameters: id,
/// lease or null, new version, last use, entry of the log of commits, numbers, records.
///
/// Two concurrent first commits conflict on the primary key. Messages without a head are damage.
const BEGIN_CONVERSATION: &str = "\
{check_lease}head AS (\
    INSERT INTO {conversations} (key, id, version, messages, last_updated, commits) \
    SELECT sha256($1), $1, $3, cardinality($6::bigint[]), $4, $5 \
    WHERE ($2::bigint IS NULL OR EXISTS (SELECT FROM lease)) \
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
{check_lease}gone AS MATERIALIZED (\
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
        AND ($2::bigint IS NULL OR EXISTS (SELECT FROM lease)) \
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
{check_lease}head AS (\
    UPDATE {conversations} SET version = $3, last_updated = $4, \
        commits = substr($5::bytea || commits, 1, {log_bytes}), \
        {set_bounds}, \
        messages = messages - $13 + cardinality($6::bigint[]) \
    WHERE key = sha256($1) AND id = $1 AND version = $8 \
        AND position(substr($5::bytea, 17) in commits) = 0 \
        AND ($2::bigint IS NULL OR EXISTS (SELECT FROM lease)) \
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
const KEEP_EVICTED: &str = ", kept AS (\
    INSERT INTO {history} (key, number, record) \
    SELECT key, number, record FROM evicted\
)";

/// Reads the reason why a commit was refused. Returns one row. Parameters: id, lease or null.
const REFUSAL_REASON: &str = "\
SELECT head.version, head.commits, $2::bigint IS NULL OR EXISTS (SELECT FROM {leases} \
        WHERE key = sha256($1) AND token = $2 AND ends > clock_timestamp()) AS is_leased \
FROM (SELECT) AS always LEFT JOIN {conversations} AS head ON head.key = sha256($1)";

/// Reads the log of commits.
const COMMITS: &str = "SELECT commits FROM {conversations} WHERE key = sha256($1)";

/// Deletes a head. Returns the key, whether or not the head existed.
const DELETE_HEAD: &str = "\
WITH head AS (DELETE FROM {conversations} WHERE key = sha256($1)) SELECT sha256($1) AS key";

/// Deletes unused heads. Parameters: keys, time. The server re-evaluates rows that were changed in the
/// meantime, so these stay.
const DELETE_UNUSED_HEADS: &str = "\
DELETE FROM {conversations} WHERE key = ANY ($1::bytea[]) AND last_updated < $2 RETURNING key";

/// Deletes the rows of deleted heads. Parameter: keys.
///
/// Must be a separate statement after the deletion of the heads, so that it sees the rows of commits for
/// which that deletion has waited. Skips keys that have a head again: that conversation was created in the
/// meantime.
const DELETE_ROWS: &str = "\
WITH gone AS (\
    SELECT key FROM unnest($1::bytea[]) AS all_of (key) \
    WHERE NOT EXISTS (SELECT FROM {conversations} WHERE {conversations}.key = all_of.key)\
), current AS (\
    DELETE FROM {messages} USING gone WHERE {messages}.key = gone.key\
), kept AS (\
    DELETE FROM {history} USING gone WHERE {history}.key = gone.key\
) SELECT";

/// Deletes expired leases.
const DELETE_ENDED_LEASES: &str =
    "DELETE FROM {leases} WHERE ends < clock_timestamp() OR begins > clock_timestamp()";

/// Reads a page of heads. Parameters: the last key of the previous page, time, limit.
const LAST_USES: &str = "\
SELECT key, last_updated < $2 AS is_unused FROM {conversations} WHERE key > $1 ORDER BY key LIMIT $3";

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

/// Reads all rows of a conversation as raw text.
const EXPORT: &str = "\
SELECT 'the head' AS row, 0::bigint AS number, row_to_json(head)::text AS record \
    FROM {conversations} AS head WHERE key = sha256($1) \
UNION ALL \
SELECT 'evicted message ' || number, number, record FROM {history} WHERE key = sha256($1) \
UNION ALL \
SELECT 'message ' || number, number, record FROM {messages} WHERE key = sha256($1)";

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
