//! Names of the tables, and their insertion into statements.

/// Schema and prefix of the table names.
#[derive(Clone, Debug)]
pub(super) struct TableNames {
    pub(super) schema: Option<String>,
    pub(super) prefix: String,
}

impl TableNames {
    /// Returns the qualified name of a table. The names were validated; the quotes allow a schema whose name
    /// is a keyword.
    pub(super) fn name(&self, table: &str) -> String {
        let prefix = &self.prefix;
        match &self.schema {
            Some(schema) => format!("\"{schema}\".{prefix}_{table}"),
            None => format!("{prefix}_{table}"),
        }
    }

    /// Replaces placeholders such as `{messages}` in a statement by the names of the tables.
    pub(super) fn fill(&self, statement: &str) -> String {
        let tables = [
            "conversations",
            "messages",
            "history",
            "leases",
            "journals",
            "journal_rows",
            "layout",
        ];
        replace_all(statement, tables.map(|table| (format!("{{{table}}}"), self.name(table))))
    }
}

/// Replaces each name by its part.
pub(super) fn replace_all<T: AsRef<str>>(
    statement: &str,
    parts: impl IntoIterator<Item = (T, T)>,
) -> String {
    let parts = parts.into_iter();
    parts.fold(statement.to_owned(), |sql, (name, part)| sql.replace(name.as_ref(), part.as_ref()))
}
