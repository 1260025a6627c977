//! Searches and other queries on entries.

use super::super::error_mapping::TaskFailure;
use super::cancellation::Cancellation;
use super::filter::Statement;
use super::schema;
use super::sql::Sql;
use ai_services_core::document::{Metadata, MetadataValue, TextSegment};
use ai_services_core::embedding::{Best, Filter, Identified, SearchMatch, check_dimensions, score};
use ai_services_core::{Error, ErrorKind};
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Row, params_from_iter};

/// Number of rows between two checks for cancellation.
const CHECK_INTERVAL: usize = 256;

/// Number of independent sums of a dot product, so that the processor can add them in parallel.
const LANES: usize = 16;

/// A search for the entries with the nearest vectors.
pub(super) struct NearestQuery<'a> {
    /// Query vector, of length 1.
    pub(super) vector: &'a [f32],
    pub(super) max_results: usize,
    pub(super) min_score: f64,
}

/// A search for entries that contain at least one of several words.
pub(super) struct WordsQuery<'a> {
    pub(super) expression: &'a str,
    pub(super) max_results: usize,
}

/// An entry that may be among the results.
struct Candidate {
    id: Box<str>,
    /// Number of the row.
    number: i64,
}

impl Identified for Candidate {
    fn id(&self) -> &str {
        &self.id
    }
}

impl Candidate {
    /// Offers a row to the best results. Its first columns are the row number and the id.
    fn offer(best: &mut Best<Self>, score: f64, row: &Row<'_>) -> Result<(), TaskFailure> {
        let (number, id) = (row.get(0)?, text(row.get_ref(1)?)?);
        best.offer(score, id, || Self { id: id.into(), number });
        Ok(())
    }
}

impl NearestQuery<'_> {
    pub(super) fn find(
        &self,
        connection: &Connection,
        sql: &Sql,
        filter: Option<&Filter>,
        cancellation: &Cancellation,
    ) -> Result<Vec<SearchMatch>, TaskFailure> {
        let Some(dimensions) = schema::dimensions(connection, sql)? else { return Ok(Vec::new()) };
        check_dimensions(self.vector.len(), dimensions)?;
        let from = "SELECT e.number, e.id, e.vector FROM {t}_entry AS e";
        let mut statement = Statement::new(sql.fill(from));
        statement.push_filter(connection, sql, " WHERE ", filter)?;
        let mut best = Best::new(self.max_results);
        for_each_row(connection, &statement, cancellation, |row| {
            let cosine = match row.get_ref(2)? {
                ValueRef::Blob(vector) if vector.len() == size_of_val(self.vector) => {
                    dot(vector, self.vector)
                }
                _ => return Err(damaged(sql, "a vector")),
            };
            let score = score(cosine);
            if score >= self.min_score {
                Candidate::offer(&mut best, score, row)?;
            }
            Ok(())
        })?;
        matches(connection, sql, best)
    }
}

impl WordsQuery<'_> {
    pub(super) fn find(
        &self,
        connection: &Connection,
        sql: &Sql,
        filter: Option<&Filter>,
        cancellation: &Cancellation,
    ) -> Result<Vec<SearchMatch>, TaskFailure> {
        // In SQLite a smaller number is a better match.
        let from = "SELECT e.number, e.id, -bm25({t}_words) \
                    FROM {t}_words JOIN {t}_entry AS e ON e.number = {t}_words.rowid \
                    WHERE {t}_words MATCH ";
        let mut statement = Statement::new(sql.fill(from));
        statement.bind(Value::Text(self.expression.to_owned()));
        statement.push_filter(connection, sql, " AND ", filter)?;
        let mut best = Best::new(self.max_results);
        for_each_row(connection, &statement, cancellation, |row| {
            Candidate::offer(&mut best, row.get(2)?, row)?;
            Ok(())
        })?;
        matches(connection, sql, best)
    }
}

/// Returns the FTS5 query for these words. Each is quoted, so that it contains no operators.
pub(super) fn expression(words: &[&str]) -> String {
    let quoted: Vec<_> =
        words.iter().map(|word| format!("\"{}\"", word.replace('"', "\"\""))).collect();
    quoted.join(" OR ")
}

pub(super) fn count(
    connection: &Connection,
    sql: &Sql,
    filter: Option<&Filter>,
) -> Result<u64, TaskFailure> {
    let mut statement = Statement::new(sql.fill("SELECT count(*) FROM {t}_entry AS e"));
    statement.push_filter(connection, sql, " WHERE ", filter)?;
    let parameters = params_from_iter(&statement.parameters);
    let count: i64 =
        connection.prepare_cached(&statement.sql)?.query_row(parameters, |row| row.get(0))?;
    Ok(count.unsigned_abs())
}

pub(super) fn values(
    connection: &Connection,
    sql: &Sql,
    key: &str,
    filter: Option<&Filter>,
) -> Result<Vec<MetadataValue>, TaskFailure> {
    // SQLite treats 1 and 1.0 as equal, but they are different metadata values.
    let from = "SELECT DISTINCT kind, typeof(value), value FROM {t}_metadata AS e WHERE key = ";
    let mut statement = Statement::new(sql.fill(from));
    statement.bind(Value::Text(key.to_owned()));
    statement.push_filter(connection, sql, " AND ", filter)?;
    let mut prepared = connection.prepare_cached(&statement.sql)?;
    let mut rows = prepared.query(params_from_iter(&statement.parameters))?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(value(sql, row.get(0)?, row.get_ref(2)?)?);
    }
    Ok(found)
}

/// Calls `show` for each row of a statement, until the work is cancelled.
pub(super) fn for_each_row(
    connection: &Connection,
    statement: &Statement,
    cancellation: &Cancellation,
    mut show: impl FnMut(&Row<'_>) -> Result<(), TaskFailure>,
) -> Result<(), TaskFailure> {
    let mut prepared = connection.prepare_cached(&statement.sql)?;
    let mut rows = prepared.query(params_from_iter(&statement.parameters))?;
    let mut seen = 0_usize;
    while let Some(row) = rows.next()? {
        if seen.is_multiple_of(CHECK_INTERVAL) {
            cancellation.check()?;
        }
        seen += 1;
        show(row)?;
    }
    Ok(())
}

/// Reads the segments of the best candidates.
fn matches(
    connection: &Connection,
    sql: &Sql,
    best: Best<Candidate>,
) -> Result<Vec<SearchMatch>, TaskFailure> {
    let mut texts = connection.prepare_cached(&sql.text)?;
    let mut metadata = connection.prepare_cached(&sql.metadata)?;
    let mut found = Vec::new();
    for (score, candidate) in best.into_sorted() {
        let text: String = texts.query_row([candidate.number], |row| row.get(0))?;
        let mut values = Metadata::new();
        let mut rows = metadata.query([candidate.number])?;
        while let Some(row) = rows.next()? {
            let key: String = row.get(0)?;
            values.set(key, value(sql, row.get(1)?, row.get_ref(2)?)?);
        }
        let segment = TextSegment::new(text).with_metadata(values);
        found.push(SearchMatch::new(candidate.id, score, segment));
    }
    Ok(found)
}

/// Converts a stored value to a metadata value.
fn value(sql: &Sql, kind: i64, value: ValueRef<'_>) -> Result<MetadataValue, TaskFailure> {
    match (kind, value) {
        (0, ValueRef::Text(_)) => Ok(text(value)?.into()),
        (1, ValueRef::Integer(number)) => Ok(number.into()),
        (1, ValueRef::Real(number)) => Ok(number.into()),
        (2, ValueRef::Integer(value)) => Ok((value != 0).into()),
        _ => Err(damaged(sql, "a metadata value")),
    }
}

fn text(value: ValueRef<'_>) -> rusqlite::Result<&str> {
    Ok(value.as_str()?)
}

fn damaged(sql: &Sql, part: &str) -> TaskFailure {
    let message = format!(
        "{part} of the embeddings `{}` is damaged; restore the file from a backup, or embed again",
        sql.table()
    );
    TaskFailure::Refused(Error::new(ErrorKind::Store, message))
}

/// Returns the dot product of a stored vector and another vector of the same length.
fn dot(stored: &[u8], vector: &[f32]) -> f32 {
    const BYTES: usize = LANES * size_of::<f32>();
    let (blocks, rest) = stored.as_chunks::<BYTES>();
    let (vector_blocks, vector_rest) = vector.as_chunks::<LANES>();
    let mut sums = [0.0_f32; LANES];
    for (block, numbers) in blocks.iter().zip(vector_blocks) {
        add_products(&mut sums, block, numbers);
    }
    add_products(&mut sums, rest, vector_rest);
    sums.iter().sum()
}

fn add_products(sums: &mut [f32; LANES], stored: &[u8], vector: &[f32]) {
    let (stored, _) = stored.as_chunks::<{ size_of::<f32>() }>();
    for ((sum, bytes), number) in sums.iter_mut().zip(stored).zip(vector) {
        *sum += f32::from_le_bytes(*bytes) * number;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dot_product_is_right_for_all_lengths() {
        for length in [0_u8, 1, 15, 16, 17, 128, 255] {
            let vector: Vec<f32> = (0..length).map(|n| f32::from(n) - 7.0).collect();
            let stored: Vec<u8> = vector.iter().flat_map(|number| number.to_le_bytes()).collect();
            let expected: f32 = vector.iter().map(|number| number * number).sum();
            assert_eq!(dot(&stored, &vector), expected, "{length}");
        }
    }

    #[test]
    fn quotes_in_words_are_escaped() {
        assert_eq!(expression(&["a", "\"b*"]), "\"a\" OR \"\"\"b*\"");
    }
}
