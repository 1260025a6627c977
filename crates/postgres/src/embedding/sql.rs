//! The statements, with the names of the tables in them; all values are parameters.

/// The names of the tables.
#[derive(Clone, Debug)]
pub(super) struct Names {
    pub(super) schema: Option<String>,
    pub(super) table: String,
}

impl Names {
    /// A table as statements name it. The names were checked; quotes are for schemas that are
    /// called like a key word.
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

    /// The index on vectors.
    pub(super) fn nearest(&self) -> String {
        self.qualified(&format!("{}_nearest", self.table))
    }

    /// A statement with `{entries}`, `{layout}` and `{table}` replaced; the last one is what names of
    /// indexes begin with, which are in the schema of their table.
    pub(super) fn fill(&self, statement: &str) -> String {
        statement
            .replace("{entries}", &self.entries())
            .replace("{layout}", &self.layout())
            .replace("{table}", &self.table)
    }
}

/// The statements of one store that do not depend on a filter.
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
}

impl Sql {
    pub(super) fn new(names: &Names) -> Self {
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
        }
    }
}

/// Ids are bytes, because they may hold what a text cannot, and are ordered by them. Vectors and metadata
/// stay in the row as long as it fits into a page: a search reads all of the first and many of the
/// second. The record, which few are read of, goes elsewhere if it is long.
const CREATE: &str = "\
CREATE TABLE {entries} (\
    id bytea PRIMARY KEY, vector vector NOT NULL, metadata jsonb NOT NULL, words tsvector NOT NULL, \
    record text NOT NULL\
);\
ALTER TABLE {entries} ALTER COLUMN vector SET STORAGE MAIN, ALTER COLUMN metadata SET STORAGE MAIN;\
CREATE INDEX {table}_metadata ON {entries} USING gin (metadata jsonb_path_ops);\
CREATE INDEX {table}_words ON {entries} USING gin (words);\
CREATE TABLE {layout} (version bigint NOT NULL, dimensions integer, text_search text NOT NULL)";

/// Parameters: ids, the numbers of all vectors, metadata, texts to search, records, the configuration of
/// the search, and how many numbers a vector has.
///
/// Cutting vectors out of one array is ten times as fast as reading them as texts, and as exact.
const INSERT: &str = "\
INSERT INTO {entries} (id, vector, metadata, words, record) \
SELECT id, (($2::real[])[(number::int - 1) * $7::int + 1 : number::int * $7::int])::vector, \
    metadata::jsonb, to_tsvector($6::text::regconfig, words), record \
FROM unnest($1::bytea[], $3::text[], $4::text[], $5::text[]) WITH ORDINALITY \
    AS new (id, metadata, words, record, number) \
ON CONFLICT (id) DO UPDATE SET vector = excluded.vector, metadata = excluded.metadata, \
    words = excluded.words, record = excluded.record";
