//! The tables, and whose file it is.

use super::fault::Fault;
use ai_services_core::store_kit::failpoint::failpoint;
use ai_services_core::{Error, ErrorKind};
use rusqlite::{Connection, Transaction, TransactionBehavior};
use std::path::Path;

/// Marks the file as ours: `AiSv`.
const APPLICATION_ID: i64 = 0x4169_5376;

/// What makes version `n + 1` of the schema out of version `n`.
///
/// Every row carries the id itself, so that rows whose head is lost are noticed. Rows of a
/// conversation lie side by side, in the order of their numbers.
const MIGRATIONS: &[&str] = &["
CREATE TABLE conversation (
    id TEXT NOT NULL PRIMARY KEY,
    version INTEGER NOT NULL,
    messages INTEGER NOT NULL,
    last_used INTEGER NOT NULL,
    commit_token INTEGER NOT NULL,
    lease_token INTEGER,
    lease_until INTEGER
) STRICT, WITHOUT ROWID;
CREATE TABLE message (
    id TEXT NOT NULL,
    number INTEGER NOT NULL,
    record TEXT NOT NULL,
    PRIMARY KEY (id, number)
) STRICT, WITHOUT ROWID;
CREATE TABLE history (
    id TEXT NOT NULL,
    number INTEGER NOT NULL,
    record TEXT NOT NULL,
    PRIMARY KEY (id, number)
) STRICT, WITHOUT ROWID;
"];

/// What the header of the file says.
struct Header {
    application: i64,
    version: i64,
    tables: i64,
    encoding: String,
}

/// Refuses a file that is not ours or too new. Reads only.
pub(super) fn check(connection: &Connection, path: &Path) -> Result<(), Fault> {
    version(&connection.unchecked_transaction()?, path).map(drop)
}

/// Creates or updates the tables in one transaction, whoever else tries to.
pub(super) fn migrate(connection: &Connection, path: &Path) -> Result<(), Fault> {
    if version(&connection.unchecked_transaction()?, path)? == MIGRATIONS.len() {
        return Ok(());
    }
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    let present = version(&transaction, path)?;
    for migration in MIGRATIONS.iter().skip(present) {
        transaction.execute_batch(migration)?;
        failpoint!("sqlite.in_migration");
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", MIGRATIONS.len() as i64)?;
    Ok(transaction.commit()?)
}

/// The version of the schema, 0 in an empty file.
///
/// Within a transaction, so that what another process is creating is seen in full or not at all.
fn version(transaction: &Transaction<'_>, path: &Path) -> Result<usize, Fault> {
    let Header { application, version, tables, encoding } = header(transaction)?;
    let path = path.display();
    let refuse = |problem: &dyn std::fmt::Display| {
        let message = format!("`{path}` {problem}");
        Err(Fault::Refused(Error::configuration(message)))
    };
    if (application, version, tables) == (0, 0, 0) {
        return Ok(0);
    }
    if application != APPLICATION_ID {
        return refuse(&"is the database of another application; choose another file");
    }
    match usize::try_from(version) {
        Ok(version) if version > MIGRATIONS.len() => refuse(&format_args!(
            "has version {version} of the schema; this build reads up to {}, update ai-services",
            MIGRATIONS.len()
        )),
        Ok(version @ 1..) if encoding == "UTF-8" => Ok(version),
        _ => {
            let message = format!("the header of `{path}` is damaged, restore it from a backup");
            Err(Fault::Refused(Error::new(ErrorKind::Store, message)))
        }
    }
}

fn header(connection: &Connection) -> rusqlite::Result<Header> {
    let number = |name: &str| connection.pragma_query_value(None, name, |row| row.get(0));
    Ok(Header {
        application: number("application_id")?,
        version: number("user_version")?,
        tables: connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?,
        encoding: connection.pragma_query_value(None, "encoding", |row| row.get(0))?,
    })
}
