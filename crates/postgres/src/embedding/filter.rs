//! A filter as a condition of SQL.
//!
//! Metadata are one object with a member for each value, whose name begins with the kind of the value:
//! `t` for texts, `i` for whole numbers, `f` for floats, `b` for booleans. So kinds cannot meet. Numbers are
//! `numeric`, which is exact. Equality is asked as containment, which the index answers.

use super::super::tokio_postgres::types::{ToSql, Type};
use super::record::{digits, escaped, kind, member, name};
use ai_services_core::document::MetadataValue;
use ai_services_core::embedding::{Comparison, Filter};
use std::fmt::Write as _;

/// Up to so many values are asked for one by one, so that the index can answer.
const ASKED_BY_INDEX: usize = 16;

/// A statement that grows, with its parameters.
pub(super) struct Statement {
    pub(super) sql: String,
    parameters: Vec<(Box<dyn ToSql + Sync + Send>, Type)>,
}

impl Statement {
    pub(super) fn new(sql: String) -> Self {
        Self { sql, parameters: Vec::new() }
    }

    /// The parameters, as a connection wants them.
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

    /// Adds a parameter and its place in the statement.
    pub(super) fn bind(&mut self, value: impl ToSql + Sync + Send + 'static, kind: Type) {
        self.parameters.push((Box::new(value), kind));
        let number = self.parameters.len();
        // Writing to a `String` does not fail.
        let _ = write!(self.sql, "${number}");
    }

    /// Adds the condition that the filter accepts an entry, if there is one.
    pub(super) fn accepted(&mut self, before: &str, filter: Option<&Filter>) {
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
            Filter::In { key, values } if values.len() <= ASKED_BY_INDEX => {
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

    fn join(&mut self, filters: &[Filter], operator: &str, without: &str) {
        let Some((first, rest)) = filters.split_first() else { return self.push(without) };
        self.push("(");
        self.condition(first);
        for filter in rest {
            self.push(operator);
            self.condition(filter);
        }
        self.push(")");
    }

    /// Never null. A number is equal to one of either kind.
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
        self.own(key, kind(value));
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
        self.own(key, kind);
        self.push(" = ANY (");
        values(self);
        self.push("), false)");
    }

    /// The entry's own value, null if it is of another kind. Texts are in the order of their bytes.
    fn own(&mut self, key: &str, kind: char) {
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
        statement.accepted("", Some(filter));
        statement.sql
    }

    #[test]
    fn words_of_a_filter_are_parameters() {
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
