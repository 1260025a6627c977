//! The SQL statements. They contain the table names; all values are parameters.

/// Schema and name of the table.
#[derive(Clone, Debug)]
pub(super) struct TableNames {
    pub(super) schema: Option<String>,
    pub(super) table: String,
}

impl TableNames {
    /// Returns the qualified name of a table or index. The names were validated; the quotes allow a name that
    /// is a keyword.
    pub(super) fn qualified(&self, table: &str) -> String {
        match &self.schema {
            Some(schema) => format!("\"{schema}\".\"{table}\""),
            None => format!("\"{table}\""),
        }
    }

    pub(super) fn entries(&self) -> String {
        self.qualified(&self.table)
    }

    pub(super) fn layout(&self) -> String {
        self.qualified(&format!("{}_layout", self.table))
    }

    /// Returns the name of the vector index.
    pub(super) fn nearest(&self) -> String {
        self.qualified(&format!("{}_nearest", self.table))
    }

    /// Replaces `{entries}`, `{layout}` and `{table}` in a statement. `{table}` is the prefix of index names,
    /// which are always in the schema of their table.
    pub(super) fn fill(&self, statement: &str) -> String {
        statement
            .replace("{entries}", &self.entries())
            .replace("{layout}", &self.layout())
            .replace("{table}", &self.table)
    }
}

/// The statements of one store that are independent of filters.
#[derive(Debug)]
pub(super) struct Sql {
    pub(super) create: String,
    pub(super) layout: String,
    pub(super) share: String,
    pub(super) lock: String,
    pub(super) set_dimensions: String,
    pub(super) is_empty: String,
    pub(super) insert: String,
    pub(super) remove: String,
    pub(super) clear: String,
}

impl Sql {
    pub(super) fn new(names: &TableNames) -> Self {
        let fill = |statement: &str| names.fill(statement);
        Self {
            create: fill(CREATE),
            layout: fill("SELECT version, dimensions, text_search FROM {layout}"),
            share: fill("SELECT dimensions FROM {layout} FOR SHARE"),
            lock: fill("SELECT dimensions FROM {layout} FOR UPDATE"),
            set_dimensions: fill("UPDATE {layout} SET dimensions = $1"),
            is_empty: fill("SELECT NOT EXISTS (SELECT FROM {entries})"),
            insert: fill(INSERT),
            remove: fill("DELETE FROM {entries} WHERE id = ANY($1)"),
            clear: fill("DELETE FROM {entries}"),
        }
    }
}

/// Statements that create the tables.
///
/// Ids are `bytea`, because they may contain NUL and are ordered by bytes. Vectors and metadata stay in the
/// row as long as it fits into a page, because a search reads all vectors and much of the metadata. Long
/// records, few of them read by a search, are stored out of line.
const CREATE: &str = "\
CREATE TABLE {entries} (\
    id bytea PRIMARY KEY, vector vector NOT NULL, metadata jsonb NOT NULL, words tsvector NOT NULL, \
    record text NOT NULL\
);\
ALTER TABLE {entries} ALTER COLUMN vector SET STORAGE MAIN, ALTER COLUMN metadata SET STORAGE MAIN;\
CREATE INDEX {table}_metadata ON {entries} USING gin (metadata jsonb_path_ops);\
CREATE INDEX {table}_words ON {entries} USING gin (words);\
CREATE TABLE {layout} (version bigint NOT NULL, dimensions integer, text_search text NOT NULL)";

/// Inserts or replaces entries. Parameters: ids, the concatenated vectors, metadata, searched texts, records,
/// the text search configuration, and the number of dimensions.
///
/// Slicing vectors out of one array is ten times as fast as parsing them from text, and equally exact.
const INSERT: &str = "\
INSERT INTO {entries} (id, vector, metadata, words, record) \
SELECT id, (($2::real[])[(number::int - 1) * $7::int + 1 : number::int * $7::int])::vector, \
    metadata::jsonb, to_tsvector($6::text::regconfig, words), record \
FROM unnest($1::bytea[], $3::text[], $4::text[], $5::text[]) WITH ORDINALITY \
    AS new (id, metadata, words, record, number) \
ON CONFLICT (id) DO UPDATE SET vector = excluded.vector, metadata = excluded.metadata, \
    words = excluded.words, record = excluded.record";
