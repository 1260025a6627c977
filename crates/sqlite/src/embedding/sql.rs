//! The SQL statements. They contain the table names; all values are parameters.

/// The statements of one store that are independent of filters.
#[derive(Debug)]
pub(super) struct Sql {
    table: Box<str>,
    pub(super) create: String,
    pub(super) dimensions: String,
    pub(super) find: String,
    pub(super) insert_entry: String,
    pub(super) insert_segment: String,
    pub(super) insert_metadata: String,
    pub(super) insert_words: String,
    /// Statements that delete an entry, one for each table.
    pub(super) delete: [String; 4],
    pub(super) clear: [String; 4],
    pub(super) text: String,
    pub(super) metadata: String,
    /// Counts the entries with a value, up to a limit.
    pub(super) rows: String,
}

impl Sql {
    pub(super) fn new(table: &str) -> Self {
        let fill = |statement: &str| fill(statement, table);
        Self {
            table: table.into(),
            create: fill(CREATE),
            dimensions: fill("SELECT length(vector) / 4 FROM {t}_entry LIMIT 1"),
            find: fill("SELECT number FROM {t}_entry WHERE id = ?1"),
            insert_entry: fill("INSERT INTO {t}_entry (id, vector) VALUES (?1, ?2)"),
            insert_segment: fill("INSERT INTO {t}_segment (number, text) VALUES (?1, ?2)"),
            insert_metadata: fill(
                "INSERT INTO {t}_metadata (number, position, key, kind, value)
                 VALUES (?1, ?2, ?3, ?4, ?5)",
            ),
            insert_words: fill("INSERT INTO {t}_words (rowid, text) VALUES (?1, ?2)"),
            // The words first, because the statement reads them from the segment.
            delete: [
                "INSERT INTO {t}_words ({t}_words, rowid, text)
                 SELECT 'delete', number, text FROM {t}_segment WHERE number = ?1",
                "DELETE FROM {t}_metadata WHERE number = ?1",
                "DELETE FROM {t}_segment WHERE number = ?1",
                "DELETE FROM {t}_entry WHERE number = ?1",
            ]
            .map(fill),
            clear: [
                "INSERT INTO {t}_words ({t}_words) VALUES ('delete-all')",
                "DELETE FROM {t}_metadata",
                "DELETE FROM {t}_segment",
                "DELETE FROM {t}_entry",
            ]
            .map(fill),
            text: fill("SELECT text FROM {t}_segment WHERE number = ?1"),
            metadata: fill(
                "SELECT key, kind, value FROM {t}_metadata WHERE number = ?1 ORDER BY position",
            ),
            rows: fill(
                "SELECT count(*) FROM (SELECT 1 FROM {t}_metadata
                 WHERE key = ?1 AND kind = ?2 AND value = ?3 LIMIT ?4)",
            ),
        }
    }

    /// Replaces `{t}` in a statement by the table prefix.
    pub(super) fn fill(&self, statement: &str) -> String {
        fill(statement, &self.table)
    }

    pub(super) fn table(&self) -> &str {
        &self.table
    }
}

fn fill(statement: &str, table: &str) -> String {
    statement.replace("{t}", table)
}

/// Statements that create the tables.
///
/// Vectors and texts are in separate tables, because a search reads all vectors and few texts. Metadata
/// values keep their type: `kind` distinguishes texts, numbers and booleans, and SQLite distinguishes
/// integers from floats. The words are an external-content index, from which words are deleted explicitly:
/// with `contentless_delete`, SQLite 3.53 would still count deleted entries and rank by these counts.
const CREATE: &str = "
CREATE TABLE {t}_entry (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    vector BLOB NOT NULL
) STRICT;
CREATE TABLE {t}_segment (
    number INTEGER PRIMARY KEY,
    text TEXT NOT NULL
) STRICT;
CREATE TABLE {t}_metadata (
    number INTEGER NOT NULL,
    position INTEGER NOT NULL,
    key TEXT NOT NULL,
    kind INTEGER NOT NULL,
    value ANY NOT NULL,
    PRIMARY KEY (number, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX {t}_metadata_value ON {t}_metadata (key, kind, value);
CREATE VIRTUAL TABLE {t}_words USING fts5 (
    text, content = '{t}_segment', content_rowid = 'number',
    tokenize = 'unicode61 remove_diacritics 2'
);
";
