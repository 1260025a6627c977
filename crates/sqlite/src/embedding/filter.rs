//! Translation of filters to SQL conditions.
//!
//! Each comparison selects rows of metadata by an index. SQLite compares integers with floats by value,
//! without rounding, and texts byte by byte, which is the order of code points. Its comparison of different
//! types is never used, because the kind is part of each comparison.
//!
//! For a conjunction SQLite would collect the rows of every condition. Therefore the translation looks for an
//! equality that few rows match, and checks the other equalities only for the entries that it selects.

use super::super::error_mapping::TaskFailure;
use super::sql::Sql;
use ai_services_core::document::MetadataValue;
use ai_services_core::embedding::{Comparison, Filter};
use rusqlite::Connection;
use rusqlite::types::{ToSqlOutput, Value};
use std::fmt::Write as _;

/// Number of rows from which an equality is not selective; the limit of `Sql::rows`.
const MAX_SELECTIVE_ROWS: i64 = 1_000;

/// Maximum number of equalities whose rows are counted.
const MAX_COUNTED_EQUALITIES: usize = 8;

/// The kind of a value. Values of different kinds are neither equal nor ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    Text = 0,
    Number = 1,
    Boolean = 2,
}

/// A statement that is built step by step, with its parameters.
pub(super) struct Statement {
    pub(super) sql: String,
    pub(super) parameters: Vec<Value>,
}

impl Kind {
    pub(super) fn of(value: &MetadataValue) -> Self {
        match value {
            MetadataValue::Text(_) => Self::Text,
            MetadataValue::Integer(_) | MetadataValue::Float(_) => Self::Number,
            MetadataValue::Boolean(_) => Self::Boolean,
        }
    }
}

/// Converts a metadata value to the form in which it is stored.
pub(super) fn stored(value: &MetadataValue) -> ToSqlOutput<'_> {
    match value {
        MetadataValue::Text(text) => ToSqlOutput::from(&**text),
        MetadataValue::Integer(number) => ToSqlOutput::from(*number),
        MetadataValue::Float(number) => ToSqlOutput::from(*number),
        MetadataValue::Boolean(value) => ToSqlOutput::from(*value),
    }
}

impl Statement {
    pub(super) fn new(sql: String) -> Self {
        Self { sql, parameters: Vec::new() }
    }

    /// Adds a parameter and its placeholder.
    pub(super) fn bind(&mut self, value: Value) {
        self.parameters.push(value);
        let number = self.parameters.len();
        self.push(format_args!("?{number}"));
    }

    /// Adds `before` and the condition that the entry `e` matches the filter, if there is a filter.
    pub(super) fn push_filter(
        &mut self,
        connection: &Connection,
        sql: &Sql,
        before: &str,
        filter: Option<&Filter>,
    ) -> Result<(), TaskFailure> {
        let Some(filter) = filter else { return Ok(()) };
        self.sql.push_str(before);
        let mut conditions = Vec::new();
        collect(filter, &mut conditions);
        let rare = most_selective(connection, sql, &conditions)?;
        let conditions: Vec<_> = conditions.into_iter().enumerate().collect();
        self.join(&conditions, ("AND", "1"), &mut |statement, (at, filter)| match (rare, filter) {
            (Some(rare), Filter::Compare { key, comparison: Comparison::Equal, value })
                if rare != *at =>
            {
                statement.has(sql, key, value);
            }
            _ => statement.condition(sql, "e.number", filter),
        });
        Ok(())
    }

    /// Adds the condition that the entry `e` has this value, evaluated for each entry.
    fn has(&mut self, sql: &Sql, key: &str, value: &MetadataValue) {
        let table = sql.table();
        self.push(format_args!("EXISTS (SELECT 1 FROM {table}_metadata AS m WHERE m.key = "));
        self.bind(Value::Text(key.to_owned()));
        self.kind(Kind::of(value));
        self.push(format_args!(" AND m.value = "));
        self.bind(owned(value));
        self.push(format_args!(" AND m.number = e.number)"));
    }

    /// Adds the condition that the entry in row `number` matches the filter.
    fn condition(&mut self, sql: &Sql, number: &str, filter: &Filter) {
        match filter {
            Filter::Compare { key, comparison, value } => {
                self.select(sql, number, key);
                self.kind(Kind::of(value));
                let operator = match comparison {
                    Comparison::Equal => "=",
                    Comparison::Less => "<",
                    Comparison::LessOrEqual => "<=",
                    Comparison::Greater => ">",
                    Comparison::GreaterOrEqual => ">=",
                };
                self.push(format_args!(" AND m.value {operator} "));
                self.bind(owned(value));
                self.push(format_args!(")"));
            }
            Filter::In { key, values } => self.any_of(sql, number, key, values),
            Filter::Exists(key) => {
                self.select(sql, number, key);
                self.push(format_args!(")"));
            }
            Filter::All(all) => self.join(all, ("AND", "1"), &mut |statement, filter| {
                statement.condition(sql, number, filter);
            }),
            Filter::Any(any) => self.join(any, ("OR", "0"), &mut |statement, filter| {
                statement.condition(sql, number, filter);
            }),
            Filter::Not(filter) => {
                self.push(format_args!("NOT ("));
                self.condition(sql, number, filter);
                self.push(format_args!(")"));
            }
        }
    }

    fn any_of(&mut self, sql: &Sql, number: &str, key: &str, values: &[MetadataValue]) {
        self.push(format_args!("("));
        let mut is_first = true;
        for kind in [Kind::Text, Kind::Number, Kind::Boolean] {
            let mut values = values.iter().filter(|value| Kind::of(value) == kind);
            let Some(first) = values.next() else { continue };
            if !std::mem::take(&mut is_first) {
                self.push(format_args!(" OR "));
            }
            self.select(sql, number, key);
            self.kind(kind);
            self.push(format_args!(" AND m.value IN ("));
            self.bind(owned(first));
            for value in values {
                self.push(format_args!(", "));
                self.bind(owned(value));
            }
            self.push(format_args!("))"));
        }
        self.push(format_args!("{})", if is_first { "0" } else { "" }));
    }

    /// Joins conditions with an operator, or adds the constant if there are none.
    ///
    /// Splits in halves, because SQLite limits the depth of an expression, and a chain is as deep as it is
    /// long.
    fn join<T>(
        &mut self,
        parts: &[T],
        (operator, constant): (&str, &str),
        add: &mut impl FnMut(&mut Self, &T),
    ) {
        match parts {
            [] => self.push(format_args!("{constant}")),
            [part] => add(self, part),
            _ => {
                let (first, rest) = parts.split_at(parts.len() / 2);
                self.push(format_args!("("));
                self.join(first, (operator, constant), add);
                self.push(format_args!(" {operator} "));
                self.join(rest, (operator, constant), add);
                self.push(format_args!(")"));
            }
        }
    }

    fn select(&mut self, sql: &Sql, number: &str, key: &str) {
        let table = sql.table();
        self.push(format_args!(
            "{number} IN (SELECT m.number FROM {table}_metadata AS m WHERE m.key = "
        ));
        self.bind(Value::Text(key.to_owned()));
    }

    fn kind(&mut self, kind: Kind) {
        self.push(format_args!(" AND m.kind = {}", kind as u8));
    }

    fn push(&mut self, text: std::fmt::Arguments<'_>) {
        // Writing to a `String` does not fail.
        let _ = self.sql.write_fmt(text);
    }
}

/// Collects the conditions of a conjunction, including nested ones.
fn collect<'a>(filter: &'a Filter, conditions: &mut Vec<&'a Filter>) {
    match filter {
        Filter::All(all) => all.iter().for_each(|filter| collect(filter, conditions)),
        filter => conditions.push(filter),
    }
}

/// Returns the index of the equality that matches the fewest rows, if there are several and it is selective.
fn most_selective(
    connection: &Connection,
    sql: &Sql,
    conditions: &[&Filter],
) -> Result<Option<usize>, TaskFailure> {
    let equalities = conditions.iter().enumerate().filter_map(|(at, filter)| match filter {
        Filter::Compare { key, comparison: Comparison::Equal, value } => Some((at, key, value)),
        _ => None,
    });
    let equalities: Vec<_> = equalities.take(MAX_COUNTED_EQUALITIES).collect();
    if equalities.len() < 2 {
        return Ok(None);
    }
    let mut rows = connection.prepare_cached(&sql.rows)?;
    let mut most_selective = (MAX_SELECTIVE_ROWS, None);
    for (at, key, value) in equalities {
        let parameters = (&**key, Kind::of(value) as u8, stored(value), most_selective.0);
        let found: i64 = rows.query_row(parameters, |row| row.get(0))?;
        if found < most_selective.0 {
            most_selective = (found, Some(at));
        }
    }
    Ok(most_selective.1)
}

fn owned(value: &MetadataValue) -> Value {
    match value {
        MetadataValue::Text(text) => Value::Text((**text).to_owned()),
        MetadataValue::Integer(number) => Value::Integer(*number),
        MetadataValue::Float(number) => Value::Real(*number),
        MetadataValue::Boolean(value) => Value::Integer((*value).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::SqliteEmbeddingStore;
    use super::*;
    use ai_services_core::document::{Metadata, TextSegment};
    use ai_services_core::embedding::{EmbeddingEntry, EmbeddingStore};
    use rusqlite::{StatementStatus, params_from_iter};
    use std::ops::Not;

    #[test]
    fn filter_values_are_parameters() {
        let nasty = "'; DROP TABLE x; --";
        let filter = Filter::key(nasty).is(nasty).or(!Filter::key(nasty).is_in([1, 2]));
        let mut statement = Statement::new("SELECT ".to_owned());
        statement.condition(&Sql::new("t"), "n", &filter);
        assert_eq!(
            statement.sql,
            "SELECT (n IN (SELECT m.number FROM t_metadata AS m WHERE m.key = ?1 AND m.kind = 0 \
             AND m.value = ?2) OR NOT ((n IN (SELECT m.number FROM t_metadata AS m \
             WHERE m.key = ?3 AND m.kind = 1 AND m.value IN (?4, ?5)))))"
        );
        assert_eq!(statement.parameters.len(), 5);
    }

    /// The filter that selects one source of a large collection.
    #[tokio::test]
    async fn selective_equality_is_evaluated_first() {
        let store = SqliteEmbeddingStore::in_memory().await.unwrap();
        let entry = |number: i64| {
            let metadata = Metadata::new().with("collection", "books").with("source", number / 5);
            let segment = TextSegment::new("x").with_metadata(metadata);
            EmbeddingEntry::new(number.to_string(), vec![1.0], segment)
        };
        store.add((0..5_000).map(entry).collect()).await.unwrap();
        let (books, source) = (Filter::key("collection").is("books"), Filter::key("source").is(7));
        for (filter, max_steps) in [
            (books.clone().and(source.clone()), 1_000),
            (source.clone().and(Filter::All(vec![Filter::key("x").exists().not(), books])), 1_000),
            (source, 1_000),
        ] {
            let counted = store.read("count", move |connection, sql, _| {
                let mut statement = Statement::new(sql.fill("SELECT e.id FROM {t}_entry AS e"));
                statement.push_filter(connection, sql, " WHERE ", Some(&filter))?;
                let mut prepared = connection.prepare(&statement.sql)?;
                let parameters = params_from_iter(&statement.parameters);
                let found = prepared.query_map(parameters, |_| Ok(()))?.count();
                Ok((found, prepared.get_status(StatementStatus::VmStep)))
            });
            let (found, steps) = counted.await.unwrap();
            assert_eq!(found, 5);
            assert!(steps < max_steps, "{steps}");
        }
    }

    #[test]
    fn empty_lists_are_constants() {
        let of = |filter: &Filter| {
            let mut statement = Statement::new(String::new());
            statement.condition(&Sql::new("t"), "n", filter);
            statement.sql
        };
        assert_eq!(of(&Filter::All(vec![])), "1");
        assert_eq!(of(&Filter::Any(vec![])), "0");
        assert_eq!(of(&Filter::key("k").is_in(Vec::<i64>::new())), "(0)");
    }
}
