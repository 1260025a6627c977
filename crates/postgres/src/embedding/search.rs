//! Searches and other queries on entries.

use super::super::connection::{Connection, RawText};
use super::super::error_mapping::AttemptFailure;
use super::super::tokio_postgres::Row;
use super::super::tokio_postgres::types::Type;
use super::filter::Statement;
use super::index::{DEFAULT_EF_SEARCH, MAX_RESULTS};
use super::{PostgresEmbeddingStore, VectorIndex, record};
use ai_services_core::document::MetadataValue;
use ai_services_core::embedding::{
    Filter, SearchMatch, TextSearch, VectorSearch, check_dimensions,
};
use ai_services_core::{Error, ErrorKind};

/// Parts of the text search statement: finds the entries with each word, scores them, and returns the best.
///
/// The text of the search is split into words by the same configuration as the entries. Each word is quoted,
/// so that it contains no operators: `chr(39)` is the quote and `chr(92)` the backslash, which are doubled
/// inside. Rare words have a higher weight.
const TEXT_SEARCH: [&str; 4] = [
    "WITH word AS MATERIALIZED (\
        SELECT query, 1 / (1 + ln(greatest(entries, 1)::float8)) AS weight \
        FROM (\
            SELECT (chr(39) || replace(replace(lexeme, chr(92), chr(92) || chr(92)), \
                chr(39), chr(39) || chr(39)) || chr(39))::tsquery AS query \
            FROM unnest(to_tsvector(",
    "::regconfig, ",
    "))) AS asked, \
        LATERAL (SELECT count(*) AS entries FROM {entries} WHERE words @@ query) AS found\
    ), best AS (\
        SELECT id, sum(weight * ts_rank(words, query, 1)) AS score \
        FROM word JOIN {entries} ON words @@ query",
    ") SELECT id, record, score FROM best JOIN {entries} USING (id) ORDER BY score DESC, id",
];

impl PostgresEmbeddingStore {
    pub(super) async fn search_once(
        &self,
        search: &VectorSearch<'_>,
        vector: &[f32],
    ) -> Result<Vec<SearchMatch>, AttemptFailure> {
        let mut connection = self.0.server.connect().await?;
        let rows = match self.index_candidates(search) {
            Some(candidates) => {
                let nearest = self.nearest_by_index(search, vector, candidates);
                search_index(&mut connection, &nearest, candidates).await?
            }
            None => {
                let nearest = self.nearest(search, vector);
                connection.query_once(&nearest.sql, &nearest.parameters()).await?
            }
        };
        if rows.is_empty() {
            // No vectors were compared, so the server did not check the dimensions.
            self.check_dimensions(&mut connection, vector.len()).await?;
        }
        let found = |row: &Row| -> Result<SearchMatch, AttemptFailure> {
            let distance: f64 = row.try_get("distance")?;
            found(row, (1.0 - distance / 2.0).clamp(0.0, 1.0))
        };
        rows.iter().map(found).collect()
    }

    pub(super) async fn search_words_once(
        &self,
        search: &TextSearch<'_>,
        words: &str,
    ) -> Result<Vec<SearchMatch>, AttemptFailure> {
        let [weights, text, entries, end] = TEXT_SEARCH.map(|part| self.0.names.fill(part));
        let mut statement = Statement::new(weights);
        statement.bind(self.0.text_search.clone(), Type::TEXT);
        statement.push(&text);
        statement.bind(record::searched(words).into_owned(), Type::TEXT);
        statement.push(&entries);
        statement.push_filter(" WHERE ", search.filter);
        statement.push(" GROUP BY id ORDER BY score DESC, id LIMIT ");
        statement.bind(at_most(search.max_results), Type::INT8);
        statement.push(&end);
        let mut connection = self.0.server.connect().await?;
        let rows = connection.query_once(&statement.sql, &statement.parameters()).await?;
        rows.iter().map(|row| found(row, row.try_get("score")?)).collect()
    }

    pub(super) async fn count_once(&self, filter: Option<&Filter>) -> Result<u64, AttemptFailure> {
        let count = self.0.names.fill("SELECT count(*) FROM {entries}");
        let mut statement = Statement::new(count);
        statement.push_filter(" WHERE ", filter);
        let mut connection = self.0.server.connect().await?;
        let rows = connection.query_once(&statement.sql, &statement.parameters()).await?;
        let count = rows.first().map(|row| row.try_get::<_, i64>(0)).transpose()?;
        Ok(count.unwrap_or_default().unsigned_abs())
    }

    pub(super) async fn values_once(
        &self,
        key: &str,
        filter: Option<&Filter>,
    ) -> Result<Vec<MetadataValue>, AttemptFailure> {
        let names = ['t', 'i', 'f', 'b'].map(|kind| record::name(kind, key)).to_vec();
        let values = "SELECT DISTINCT name, metadata ->> name AS value FROM {entries}, unnest(";
        let mut statement = Statement::new(self.0.names.fill(values));
        statement.bind(names, Type::TEXT_ARRAY);
        statement.push(") AS name WHERE metadata ? name");
        statement.push_filter(" AND ", filter);
        let mut connection = self.0.server.connect().await?;
        let rows = connection.query_once(&statement.sql, &statement.parameters()).await?;
        let value = |row: &Row| -> Result<MetadataValue, AttemptFailure> {
            let (name, value): (&str, &str) = (row.try_get("name")?, row.try_get("value")?);
            Ok(record::value(name.chars().next(), value)?)
        };
        rows.iter().map(value).collect()
    }

    /// Returns the number of candidates that the index examines; `None` if the search does not use the index.
    fn index_candidates(&self, search: &VectorSearch<'_>) -> Option<u32> {
        let VectorIndex::Hnsw(options) = self.0.index else { return None };
        let max_results = u32::try_from(search.max_results).ok()?;
        let fits = search.filter.is_none() && search.max_results <= MAX_RESULTS;
        fits.then_some(options.ef_search.max(max_results))
    }

    /// Returns the statement of an exact search.
    fn nearest(&self, search: &VectorSearch<'_>, vector: &[f32]) -> Statement {
        let mut statement = Statement::new("SELECT id, record, vector <=> ".to_owned());
        statement.bind(vector.to_vec(), Type::FLOAT4_ARRAY);
        statement.push(&self.0.names.fill("::vector AS distance FROM {entries}"));
        statement.push_filter(" WHERE ", search.filter);
        statement.push(" ORDER BY distance, id LIMIT ");
        statement.bind(at_most(search.max_results), Type::INT8);
        statement
    }

    /// Returns the statement of a search that uses the index.
    ///
    /// The expression must be the indexed one. The index only orders by distance, so an outer query orders
    /// candidates with the same distance by id.
    fn nearest_by_index(
        &self,
        search: &VectorSearch<'_>,
        vector: &[f32],
        candidates: u32,
    ) -> Statement {
        let dimensions = vector.len();
        let mut statement = Statement::new(format!(
            "SELECT id, record, distance FROM (SELECT id, record, vector::vector({dimensions}) <=> "
        ));
        statement.bind(vector.to_vec(), Type::FLOAT4_ARRAY);
        statement.push(&format!(
            "::vector({dimensions}) AS distance FROM {} ORDER BY distance LIMIT {candidates}",
            self.0.names.entries()
        ));
        statement.push(") AS nearest ORDER BY distance, id LIMIT ");
        statement.bind(at_most(search.max_results), Type::INT8);
        statement
    }

    async fn check_dimensions(
        &self,
        connection: &mut Connection,
        own: usize,
    ) -> Result<(), AttemptFailure> {
        let known =
            self.0.names.fill("SELECT vector_dims(vector) AS dimensions FROM {entries} LIMIT 1");
        let rows = connection.query(&known, &[]).await?;
        let Some(row) = rows.first() else { return Ok(()) };
        let known: i32 = row.try_get("dimensions")?;
        Ok(check_dimensions(own, usize::try_from(known).unwrap_or_default())?)
    }
}

/// Runs a search with a number of candidates, which is a setting that is local to a transaction.
async fn search_index(
    connection: &mut Connection,
    nearest: &Statement,
    candidates: u32,
) -> Result<Vec<Row>, AttemptFailure> {
    if candidates == DEFAULT_EF_SEARCH {
        return connection.query_once(&nearest.sql, &nearest.parameters()).await;
    }
    connection.begin().await?;
    connection.batch(&format!("SET LOCAL hnsw.ef_search = {candidates}")).await?;
    let rows = connection.query_once(&nearest.sql, &nearest.parameters()).await?;
    connection.commit().await?;
    Ok(rows)
}

fn found(row: &Row, score: f64) -> Result<SearchMatch, AttemptFailure> {
    let (id, record): (&[u8], RawText<'_>) = (row.try_get("id")?, row.try_get("record")?);
    let Ok(id) = std::str::from_utf8(id) else {
        let message =
            "an id of the embeddings is not valid UTF-8; restore the database, or embed again";
        return Err(Error::new(ErrorKind::Store, message).into());
    };
    Ok(SearchMatch::new(id, score, record::decode(record.as_ref())?))
}

fn at_most(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}
