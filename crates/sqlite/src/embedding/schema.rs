//! Creating the tables of a store.

use super::super::fault::Fault;
use super::sql::Sql;
use ai_services_core::Error;
use ai_services_core::embedding::check_dimensions;
use ai_services_core::store_kit::failpoint::failpoint;
use rusqlite::{Connection, OptionalExtension};

/// The version of the tables that this build makes and reads.
const VERSION: i64 = 1;

/// All stores of the file, each by its name.
const STORES: &str = "
CREATE TABLE IF NOT EXISTS embedding_store (
    name TEXT NOT NULL PRIMARY KEY,
    version INTEGER NOT NULL
) STRICT, WITHOUT ROWID";

/// Creates the tables unless they are there. Within a transaction that writes, so that of several
/// processes one does it.
pub(super) fn ensure(
    connection: &Connection,
    sql: &Sql,
    dimensions: Option<usize>,
) -> Result<(), Fault> {
    connection.execute(STORES, [])?;
    let known = "SELECT version FROM embedding_store WHERE name = ?1";
    let known: Option<i64> =
        connection.query_row(known, [sql.table()], |row| row.get(0)).optional()?;
    match known {
        Some(VERSION) => return check(connection, sql, dimensions),
        Some(version) => {
            return Err(Fault::Refused(Error::configuration(format!(
                "the embeddings `{}` have version {version} of the schema; this build reads \
                 version {VERSION}, update ai-services",
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

/// Refuses a store whose vectors are not as long as the application says.
fn check(connection: &Connection, sql: &Sql, dimensions: Option<usize>) -> Result<(), Fault> {
    let found = self::dimensions(connection, sql)?;
    let (Some(own), Some(found)) = (dimensions, found) else { return Ok(()) };
    check_dimensions(own, found).map_err(|error| {
        Fault::Refused(Error::configuration(format!(
            "the embeddings `{}` cannot be used with `dimensions({own})`: {error}",
            sql.table()
        )))
    })
}

/// How many dimensions the vectors have; `None` if there are none.
pub(super) fn dimensions(connection: &Connection, sql: &Sql) -> Result<Option<usize>, Fault> {
    let mut statement = connection.prepare_cached(&sql.dimensions)?;
    let found: Option<i64> = statement.query_row([], |row| row.get(0)).optional()?;
    Ok(found.and_then(|found| usize::try_from(found).ok()))
}
