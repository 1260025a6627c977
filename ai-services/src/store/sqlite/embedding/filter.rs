//! A filter as a condition of SQL.
//!
//! Each comparison selects rows of metadata by an index. SQLite compares whole numbers with others
//! by their values, without rounding either, and texts byte by byte, which is the order of code
//! points; what it does with values of different types is never asked, because the kind is part of each
//! comparison.

use super::sql::Sql;
use crate::document::MetadataValue;
use crate::embedding::{Comparison, Filter};
use rusqlite::types::{ToSqlOutput, Value};
use std::fmt::Write as _;

/// The kinds of values, which are never equal or in any order to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    Text = 0,
    Number = 1,
    Boolean = 2,
}

/// A statement that grows, with its parameters.
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

/// A value of metadata, as the database keeps it.
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

    /// Adds a parameter and its place in the statement.
    pub(super) fn bind(&mut self, value: Value) {
        self.parameters.push(value);
        let number = self.parameters.len();
        self.push(format_args!("?{number}"));
    }

    /// Adds the condition that the entry whose row `number` names is one that the filter accepts.
    pub(super) fn condition(&mut self, sql: &Sql, number: &str, filter: &Filter) {
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
            Filter::All(all) => self.join(sql, number, all, ("AND", "1")),
            Filter::Any(any) => self.join(sql, number, any, ("OR", "0")),
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

    /// By halves, because the depth of an expression is limited, and a chain is as deep as it is long.
    fn join(&mut self, sql: &Sql, number: &str, filters: &[Filter], how: (&str, &str)) {
        match filters {
            [] => self.push(format_args!("{}", how.1)),
            [filter] => self.condition(sql, number, filter),
            _ => {
                let (first, rest) = filters.split_at(filters.len() / 2);
                self.push(format_args!("("));
                self.join(sql, number, first, how);
                self.push(format_args!(" {} ", how.0));
                self.join(sql, number, rest, how);
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
    use super::*;

    #[test]
    fn words_of_a_filter_are_parameters() {
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
