//! Names of the keyspace and the tables.

use ai_services_core::Result;
use ai_services_core::store_kit::limits;

/// The names of the keyspace and the tables.
#[derive(Clone, Debug)]
pub(super) struct TableNames {
    pub(super) keyspace: String,
    pub(super) messages: String,
    pub(super) meta: String,
}

impl TableNames {
    pub(super) fn new(keyspace: String, prefix: &str) -> Result<Self> {
        limits::check_name("a keyspace", &keyspace)?;
        limits::check_name("a table prefix", prefix)?;
        let (messages, meta) = (format!("{prefix}_messages"), format!("{prefix}_meta"));
        // `check_name` has the same maximum length as Cassandra.
        limits::check_name("a table name", &messages)?;
        Ok(Self { keyspace, messages, meta })
    }

    /// Returns the qualified name of the table of conversations.
    pub(super) fn table(&self) -> String {
        format!("{}.{}", self.keyspace, self.messages)
    }

    /// Returns the qualified name of the table with the layout version.
    pub(super) fn meta_table(&self) -> String {
        format!("{}.{}", self.keyspace, self.meta)
    }
}
