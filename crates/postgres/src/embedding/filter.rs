//! Translation of filters to SQL conditions.
//!
//! Metadata is one JSON object with a member for each value. The name of a member begins with the kind of the
//! value: `t` for texts, `i` for integers, `f` for floats, `b` for booleans. Therefore values of different
//! kinds are never compared. Numbers are compared as `numeric`, which is exact. Equality is expressed as
//! containment, which uses the index.

use super::super::tokio_postgres::types::{ToSql, Type};
use super::record::{digits, escaped, kind, member, name};
use ai_services_core::document::MetadataValue;
use ai_services_core::embedding::{Comparison, Filter};
use std::fmt::Write as _;

/// Maximum number of values of an `In` filter that are tested one by one, so that the index can be used.
const MAX_INDEXED_VALUES: usize = 16;

/// A statement that is built step by step, with its parameters.
pub(super) struct Statement {
    pub(super) sql: String,
    parameters: Vec<(Box<dyn ToSql + Sync + Send>, Type)>,
}

impl Statement {
    pub(super) fn new(sql: String) -> Self {
        Self { sql, parameters: Vec::new() }
    }

    /// Returns the parameters with their types.
    pub(super) fn parameters(&self) -> Vec<(&(dyn ToSql + Sync), Type)> {
        let typed = self.parameters.iter().map(|(value, kind)| {
            let value: &(dyn ToSql + Sync) = &**value;
            (value, kind.clone())
        });
        typed.collect()
    }

    /// Adds text.
    pub(super) fn push(&mut self, text: &str) {
        self.sql.push_str(text);
    }

    /// Adds a parameter and its placeholder.
    pub(super) fn bind(&mut self, value: impl ToSql + Sync + Send + 'static, kind: Type) {
        self.parameters.push((Box::new(value), kind));
        let number = self.parameters.len();
        // Writing to a `String` does not fail.
        let _ = write!(self.sql, "${number}");
    }

    /// Adds `before` and the condition that an entry matches the filter, if there is a filter.
    pub(super) fn push_filter(&mut self, before: &str, filter: Option<&Filter>) {
        if let Some(filter) = filter {
            self.push(before);
            self.condition(filter);
        }
    }

    fn condition(&mut self, filter: &Filter) {
        match filter {
            Filter::Compare { key, comparison: Comparison::Equal, value } => {
                self.push("(");
                self.equal(key, value);
                self.push(")");
            }
            Filter::Compare { key, comparison, value } => self.compare(key, *comparison, value),
            Filter::In { values, .. } if values.is_empty() => self.push("false"),
            Filter::In { key, values } if values.len() <= MAX_INDEXED_VALUES => {
                self.push("(");
                for (count, value) in values.iter().enumerate() {
                    if count > 0 {
                        self.push(" OR ");
                    }
                    self.equal(key, value);
                }
                self.push(")");
            }
            Filter::In { key, values } => self.one_of(key, values),
            Filter::Exists(key) => {
                self.push("metadata ?| ");
                self.bind(
                    ['t', 'i', 'f', 'b'].map(|kind| name(kind, key)).to_vec(),
                    Type::TEXT_ARRAY,
                );
            }
            Filter::All(all) => self.join(all, " AND ", "true"),
            Filter::Any(any) => self.join(any, " OR ", "false"),
            Filter::Not(filter) => {
                self.push("NOT (");
                self.condition(filter);
                self.push(")");
            }
        }
    }

    /// Joins conditions with an operator, or adds the constant if there are none.
    fn join(&mut self, filters: &[Filter], operator: &str, constant: &str) {
        let Some((first, rest)) = filters.split_first() else { return self.push(constant) };
        self.push("(");
        self.condition(first);
        for filter in rest {
            self.push(operator);
            self.condition(filter);
        }
        self.push(")");
    }

    /// Adds an equality, which is never null. A number may be equal to an integer or a float.
    fn equal(&mut self, key: &str, value: &MetadataValue) {
        match kind(value) {
            'i' | 'f' => {
                self.contains(member('i', key, value));
                self.push(" OR ");
                self.contains(member('f', key, value));
            }
            kind => self.contains(member(kind, key, value)),
        }
    }

    fn contains(&mut self, object: String) {
        self.push("metadata @> ");
        self.bind(object, Type::TEXT);
        self.push("::jsonb");
    }

    fn compare(&mut self, key: &str, comparison: Comparison, value: &MetadataValue) {
        self.push("coalesce(");
        self.push_value(key, kind(value));
        self.push(match comparison {
            Comparison::Equal => " = ",
            Comparison::Less => " < ",
            Comparison::LessOrEqual => " <= ",
            Comparison::Greater => " > ",
            Comparison::GreaterOrEqual => " >= ",
        });
        match value {
            MetadataValue::Text(text) => self.bind(escaped(text).into_owned(), Type::TEXT),
            MetadataValue::Boolean(value) => self.bind(*value, Type::BOOL),
            number => {
                self.bind(digits(number), Type::TEXT);
                self.push("::numeric");
            }
        }
        self.push(", false)");
    }

    fn one_of(&mut self, key: &str, values: &[MetadataValue]) {
        let texts: Vec<String> = values
            .iter()
            .filter_map(|value| Some(escaped(value.as_text()?).into_owned()))
            .collect();
        let is_number = |value: &&MetadataValue| matches!(kind(value), 'i' | 'f');
        let numbers: Vec<String> = values.iter().filter(is_number).map(digits).collect();
        let booleans: Vec<bool> = values.iter().filter_map(MetadataValue::as_boolean).collect();
        self.push("(false");
        if !texts.is_empty() {
            self.any_of(key, 't', |statement| statement.bind(texts, Type::TEXT_ARRAY));
        }
        if !numbers.is_empty() {
            self.any_of(key, 'i', |statement| {
                statement.bind(numbers, Type::TEXT_ARRAY);
                statement.push("::numeric[]");
            });
        }
        if !booleans.is_empty() {
            self.any_of(key, 'b', |statement| statement.bind(booleans, Type::BOOL_ARRAY));
        }
        self.push(")");
    }

    fn any_of(&mut self, key: &str, kind: char, values: impl FnOnce(&mut Self)) {
        self.push(" OR coalesce(");
        self.push_value(key, kind);
        self.push(" = ANY (");
        values(self);
        self.push("), false)");
    }

    /// Adds an expression for the value of the entry, null if it is of another kind. Texts are ordered by
    /// bytes.
    fn push_value(&mut self, key: &str, kind: char) {
        match kind {
            't' => {
                self.push("(metadata ->> ");
                self.bind(name('t', key), Type::TEXT);
                self.push(") COLLATE \"C\"");
            }
            'b' => {
                self.push("(metadata -> ");
                self.bind(name('b', key), Type::TEXT);
                self.push(")::boolean");
            }
            _ => {
                self.push("coalesce(metadata -> ");
                self.bind(name('i', key), Type::TEXT);
                self.push(", metadata -> ");
                self.bind(name('f', key), Type::TEXT);
                self.push(")::numeric");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sql(filter: &Filter) -> String {
        let mut statement = Statement::new(String::new());
        statement.push_filter("", Some(filter));
        statement.sql
    }

    #[test]
    fn filter_values_are_parameters() {
        let nasty = "'; DROP TABLE x; --";
        let filter = Filter::key(nasty).is(nasty).or(!Filter::key(nasty).less_than(nasty));
        assert_eq!(
            sql(&filter),
            "((metadata @> $1::jsonb) OR NOT (coalesce((metadata ->> $2) COLLATE \"C\" < $3, false)))"
        );
        let many = Filter::key(nasty).is_in((0..50).map(|number| format!("{number}{nasty}")));
        assert_eq!(
            sql(&many),
            "(false OR coalesce((metadata ->> $1) COLLATE \"C\" = ANY ($2), false))"
        );
    }

    #[test]
    fn empty_lists_are_constants() {
        assert_eq!(sql(&Filter::All(vec![])), "true");
        assert_eq!(sql(&Filter::Any(vec![])), "false");
        assert_eq!(sql(&Filter::key("k").is_in(Vec::<i64>::new())), "false");
    }
}
