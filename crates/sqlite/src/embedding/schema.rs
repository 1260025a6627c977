//! The schema of a store of embeddings.

use super::super::error_mapping::TaskFailure;
use super::sql::Sql;
use ai_services_core::Error;
use ai_services_core::embedding::check_dimensions;
use ai_services_core::store_kit::failpoint::failpoint;
use rusqlite::{Connection, OptionalExtension};

/// Schema version that this build creates and reads.
const VERSION: i64 = 1;

/// Statement that creates the table of all stores in the file.
const STORES: &str = "
CREATE TABLE IF NOT EXISTS embedding_store (
    name TEXT NOT NULL PRIMARY KEY,
    version INTEGER NOT NULL
) STRICT, WITHOUT ROWID";

/// Creates the tables if they do not exist. Must run in a write transaction, so that only one of several
/// processes creates them.
pub(super) fn ensure(
    connection: &Connection,
    sql: &Sql,
    dimensions: Option<usize>,
) -> Result<(), TaskFailure> {
    connection.execute(STORES, [])?;
    let known = "SELECT version FROM embedding_store WHERE name = ?1";
    let known: Option<i64> =
        connection.query_row(known, [sql.table()], |row| row.get(0)).optional()?;
    match known {
        Some(VERSION) => return check(connection, sql, dimensions),
        Some(version) => {
            return Err(TaskFailure::Refused(Error::configuration(format!(
                "the embeddings `{}` have schema version {version}; this build reads version \
                 {VERSION}, update ai-services",
                sql.table()
            ))));
        }
        None => {}
    }
    connection.execute_batch(&sql.create)?;
    failpoint!("sqlite.embedding.created");
    let store = "INSERT INTO embedding_store (name, version) VALUES (?1, ?2)";
    connection.execute(store, (sql.table(), VERSION))?;
    Ok(())
}

/// Fails if the stored vectors have a different number of dimensions than the configuration.
fn check(connection: &Connection, sql: &Sql, dimensions: Option<usize>) -> Result<(), TaskFailure> {
    let found = self::dimensions(connection, sql)?;
    let (Some(own), Some(found)) = (dimensions, found) else { return Ok(()) };
    check_dimensions(own, found).map_err(|error| {
        TaskFailure::Refused(Error::configuration(format!(
            "the embeddings `{}` cannot be used with `dimensions({own})`: {error}",
            sql.table()
        )))
    })
}

/// Returns the number of dimensions of the stored vectors; `None` if the store is empty.
pub(super) fn dimensions(connection: &Connection, sql: &Sql) -> Result<Option<usize>, TaskFailure> {
    let mut statement = connection.prepare_cached(&sql.dimensions)?;
    let found: Option<i64> = statement.query_row([], |row| row.get(0)).optional()?;
    Ok(found.and_then(|found| usize::try_from(found).ok()))
}
