//! The statements, with the names of the tables in them; all values are parameters.
//!
//! `key` is the SHA-256 of the id, because an index entry holds at most 2704 bytes and an id up to 8 KiB.
//! The parameter `$1` is the id where nothing else is said.

/// The statements of one store.
#[derive(Debug)]
pub(super) struct Sql {
    pub(super) load: String,
    pub(super) lock: String,
    pub(super) rows: String,
    pub(super) begin_conversation: String,
    pub(super) advance: String,
    pub(super) advance_numbered: String,
    pub(super) why_refused: String,
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

/// The names of the tables.
#[derive(Clone, Debug)]
pub(super) struct Tables {
    pub(super) schema: Option<String>,
    pub(super) prefix: String,
}

impl Tables {
    /// A table as statements name it. The names were checked; quotes are for schemas that are
    /// called like a key word.
    pub(super) fn name(&self, table: &str) -> String {
        let prefix = &self.prefix;
        match &self.schema {
            Some(schema) => format!("\"{schema}\".{prefix}_{table}"),
            None => format!("{prefix}_{table}"),
        }
    }

    /// A statement, with `{table}` replaced by the table's name.
    pub(super) fn fill(&self, statement: &str) -> String {
        ["conversations", "messages", "history", "leases", "layout"]
            .iter()
            .fold(statement.to_owned(), |sql, table| {
                sql.replace(&format!("{{{table}}}"), &self.name(table))
            })
    }
}

impl Sql {
    pub(super) fn new(tables: &Tables, keeps_evicted: bool) -> Self {
        let fill = |statement: &str| tables.fill(statement);
        let kept = if keeps_evicted { KEPT } else { "" };
        let commit = |statement: &str| {
            let parts = [("{held}", HELD), ("{kept}", kept), ("{written}", WRITTEN)];
            let whole = parts
                .iter()
                .fold(statement.to_owned(), |sql, (name, part)| sql.replace(name, part));
            fill(&whole)
        };
        Self {
            load: fill(LOAD),
            lock: fill(LOCK),
            rows: fill(ROWS),
            begin_conversation: commit(BEGIN_CONVERSATION),
            advance: commit(ADVANCE),
            advance_numbered: commit(ADVANCE_NUMBERED),
            why_refused: fill(WHY_REFUSED),
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

/// Head and messages in one statement, so that they are of one moment. The rows are sorted later: here
/// it would be a sort of the texts.
const LOAD: &str = "\
SELECT NULL::bigint AS number, version, messages, id = $1 AS is_own, NULL::text AS record \
    FROM {conversations} WHERE key = sha256($1) \
UNION ALL \
SELECT number, NULL, NULL, NULL, record FROM {messages} WHERE key = sha256($1)";

/// The head, which nobody else changes until the transaction ends.
const LOCK: &str = "\
SELECT version, messages, id = $1 AS is_own FROM {conversations} WHERE key = sha256($1) FOR UPDATE";

const ROWS: &str = "SELECT number, record FROM {messages} WHERE key = sha256($1) ORDER BY number";

/// How each commit begins: with the lease that it names, if that is held.
const HELD: &str = "\
WITH lease AS (\
    SELECT FROM {leases} \
    WHERE key = sha256($1) AND token = $2 AND ends > clock_timestamp() FOR UPDATE\
), ";

/// How each commit ends: the rows are added and the lease is given back, if the head was written.
const WRITTEN: &str = "\
added AS (\
    INSERT INTO {messages} (key, number, token, record) \
    SELECT head.key, new.number, $5, new.record \
    FROM head, unnest($6::bigint[], $7::text[]) AS new (number, record)\
), released AS (\
    DELETE FROM {leases} USING head WHERE {leases}.key = head.key AND {leases}.token = $2\
) SELECT FROM head";

/// The first commit: one row if it was applied, else none. Parameters: id, lease or null, version
/// after, last use, token, numbers, records.
///
/// Two of them at once meet at the primary key. Messages without a head are damage.
const BEGIN_CONVERSATION: &str = "\
{held}head AS (\
    INSERT INTO {conversations} (key, id, version, messages, last_used, token) \
    SELECT sha256($1), $1, $3, cardinality($6::bigint[]), $4, $5 \
    WHERE ($2::bigint IS NULL OR EXISTS (SELECT FROM lease)) \
        AND NOT EXISTS (SELECT FROM {messages} WHERE key = sha256($1)) \
        AND NOT EXISTS (SELECT FROM {history} WHERE key = sha256($1)) \
    ON CONFLICT (key) DO NOTHING RETURNING key\
), {written}";

/// Any later commit: one row if it was applied, else none. Parameters: those of the first commit,
/// then the version before, the positions evicted from and up to, and the numbers evicted.
///
/// Who waits for another commit on the lock of the head finds its version changed. That the rest of
/// the statement sees the rows as they were before the wait does no harm: the head had the expected
/// version before and after, so nothing has changed.
const ADVANCE: &str = "\
{held}gone AS MATERIALIZED (\
    (SELECT number FROM {messages} WHERE key = sha256($1) \
        ORDER BY number OFFSET $9 LIMIT greatest(0, $10::bigint - $9::bigint)) \
    UNION ALL \
    SELECT number FROM {messages} WHERE key = sha256($1) AND number = ANY ($11::bigint[])\
), head AS (\
    UPDATE {conversations} SET version = $3, last_used = $4, token = $5, \
        messages = messages - (SELECT count(*) FROM gone) + cardinality($6::bigint[]) \
    WHERE key = sha256($1) AND id = $1 AND version = $8 \
        AND ($2::bigint IS NULL OR EXISTS (SELECT FROM lease)) \
        AND (SELECT count(*) FROM gone) = \
            greatest(0, least($10, messages) - $9) + cardinality($11::bigint[]) \
    RETURNING key\
), evicted AS (\
    DELETE FROM {messages} USING head, gone \
    WHERE {messages}.key = head.key AND {messages}.number = gone.number \
    RETURNING {messages}.key, {messages}.number, {messages}.token, {messages}.record\
){kept}, {written}";

/// A later commit by who has loaded the rows and knows which numbers the evicted ones have: one row
/// if it was applied, else none. Parameters: those of the first commit, then the version before, the
/// first and the last number evicted, and how many rows lie there.
///
/// The usual one. A range needs no guess about the length of an array or a limit, so the server keeps
/// one plan for it, where for [`ADVANCE`] it would plan each execution, which takes longer than the
/// execution itself; and it does not count through what was evicted since the last vacuum.
const ADVANCE_NUMBERED: &str = "\
{held}head AS (\
    UPDATE {conversations} SET version = $3, last_used = $4, token = $5, \
        messages = messages - $11 + cardinality($6::bigint[]) \
    WHERE key = sha256($1) AND id = $1 AND version = $8 \
        AND ($2::bigint IS NULL OR EXISTS (SELECT FROM lease)) \
        AND (SELECT count(*) FROM {messages} \
            WHERE key = sha256($1) AND number BETWEEN $9 AND $10) = $11::bigint \
    RETURNING key\
), evicted AS (\
    DELETE FROM {messages} USING head \
    WHERE {messages}.key = head.key AND {messages}.number BETWEEN $9 AND $10 \
    RETURNING {messages}.key, {messages}.number, {messages}.token, {messages}.record\
){kept}, {written}";

const KEPT: &str = ", kept AS (\
    INSERT INTO {history} (key, number, token, record) \
    SELECT key, number, token, record FROM evicted\
)";

/// Parameters: id, lease or null, token of the commit. The token of a commit that was applied is
/// found in its rows even when others have followed.
const WHY_REFUSED: &str = "\
SELECT (SELECT version FROM {conversations} WHERE key = sha256($1)) AS version, \
    EXISTS (SELECT FROM {conversations} WHERE key = sha256($1) AND token = $3) \
    OR EXISTS (SELECT FROM {messages} WHERE key = sha256($1) AND token = $3) \
    OR EXISTS (SELECT FROM {history} WHERE key = sha256($1) AND token = $3) AS is_applied, \
    $2::bigint IS NULL OR EXISTS (SELECT FROM {leases} \
        WHERE key = sha256($1) AND token = $2 AND ends > clock_timestamp()) AS is_leased";

/// Says the key, whether or not there was a head.
const DELETE_HEAD: &str = "\
WITH head AS (DELETE FROM {conversations} WHERE key = sha256($1)) SELECT sha256($1) AS key";

/// Parameters: keys, time. A row that was changed meanwhile is looked at again, and stays.
const DELETE_UNUSED_HEADS: &str = "\
DELETE FROM {conversations} WHERE key = ANY ($1::bytea[]) AND last_used < $2 RETURNING key";

/// Parameter: keys. Comes after the heads, in a statement of its own: only so it sees the rows of
/// commits that the deletion of the heads has waited for. A head that is there all the same belongs
/// to a conversation that was begun meanwhile.
const DELETE_ROWS: &str = "\
WITH gone AS (\
    SELECT key FROM unnest($1::bytea[]) AS all_of (key) \
    WHERE NOT EXISTS (SELECT FROM {conversations} WHERE {conversations}.key = all_of.key)\
), current AS (\
    DELETE FROM {messages} USING gone WHERE {messages}.key = gone.key\
), kept AS (\
    DELETE FROM {history} USING gone WHERE {history}.key = gone.key\
) SELECT";

const DELETE_ENDED_LEASES: &str = "DELETE FROM {leases} WHERE ends < clock_timestamp()";

/// Parameters: the key to come after, time, limit.
const LAST_USES: &str = "\
SELECT key, last_used < $2 AS is_unused FROM {conversations} WHERE key > $1 ORDER BY key LIMIT $3";

/// Without those of which nothing is left to read.
const CONVERSATIONS: &str = "\
SELECT id, key = sha256(id) AS is_own, messages, last_used FROM {conversations} \
WHERE {which} AND (messages <> 0 \
    OR EXISTS (SELECT FROM {history} WHERE {history}.key = {conversations}.key)) {order}";

/// Parameters: id, number, limit.
const HISTORY: &str = "\
SELECT number, is_evicted, record FROM (\
    (SELECT number, false AS is_evicted, record FROM {messages} \
        WHERE key = sha256($1) AND number {is} $2 ORDER BY number {order} LIMIT $3) \
    UNION ALL \
    (SELECT number, true, record FROM {history} \
        WHERE key = sha256($1) AND number {is} $2 ORDER BY number {order} LIMIT $3)\
) AS page ORDER BY number {order} LIMIT $3";

const EXPORT: &str = "\
SELECT 'the head' AS row, 0::bigint AS number, row_to_json(head)::text AS record \
    FROM {conversations} AS head WHERE key = sha256($1) \
UNION ALL \
SELECT 'evicted message ' || number, number, record FROM {history} WHERE key = sha256($1) \
UNION ALL \
SELECT 'message ' || number, number, record FROM {messages} WHERE key = sha256($1)";

/// Parameters: id, token, seconds.
const ACQUIRE: &str = "\
INSERT INTO {leases} AS held (key, token, ends) \
VALUES (sha256($1), $2, clock_timestamp() + $3::float8 * interval '1 second') \
ON CONFLICT (key) DO UPDATE SET token = excluded.token, ends = excluded.ends \
WHERE held.token = excluded.token OR held.ends <= clock_timestamp()";

const RELEASE: &str = "DELETE FROM {leases} WHERE key = sha256($1) AND token = $2";
