//! The schema, and the check of the file's owner.

use super::error_mapping::TaskFailure;
use ai_services_core::store_kit::failpoint::failpoint;
use ai_services_core::{Error, ErrorKind};
use rusqlite::{Connection, Transaction, TransactionBehavior};
use std::path::Path;

/// SQLite application id of files of this crate: `AiSv` in ASCII.
const APPLICATION_ID: i64 = 0x4169_5376;

/// Migrations: entry `n` migrates version `n` of the schema to version `n + 1`.
///
/// Every row contains the id itself, so that rows whose head is lost are detected. The rows of a conversation
/// are stored side by side: its head in slot 0, then its messages. A turn overwrites rows, so that it changes
/// the pages of the head and of a few neighbouring slots. The records of its open journal are in a table of
/// their own.
const MIGRATIONS: &[&str] = &[FIRST, SECOND, THIRD, FOURTH];

const FIRST: &str = "
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
";

/// A log of commits replaces the token of the last commit, and leases have a start.
const SECOND: &str = "
ALTER TABLE conversation RENAME COLUMN last_used TO last_updated;
ALTER TABLE conversation DROP COLUMN commit_token;
ALTER TABLE conversation ADD COLUMN commits BLOB NOT NULL DEFAULT x'';
ALTER TABLE conversation ADD COLUMN lease_since INTEGER;
UPDATE conversation SET lease_token = NULL, lease_until = NULL;
";

/// Heads and messages are rows of one table, found by their slots. A head without slots gets them with the
/// next commit.
const THIRD: &str = "
ALTER TABLE conversation RENAME TO head;
CREATE TABLE conversation (
    id TEXT NOT NULL,
    slot INTEGER NOT NULL,
    number INTEGER,
    record TEXT,
    version INTEGER,
    messages INTEGER,
    last_updated INTEGER,
    commits BLOB,
    slots BLOB,
    lease_token INTEGER,
    lease_since INTEGER,
    lease_until INTEGER,
    PRIMARY KEY (id, slot)
) STRICT, WITHOUT ROWID;
INSERT INTO conversation (id, slot, version, messages, last_updated, commits, slots,
        lease_token, lease_since, lease_until)
    SELECT id, 0, version, messages, last_updated, commits, x'', lease_token, lease_since, lease_until
    FROM head;
INSERT INTO conversation (id, slot, number, record)
    SELECT id, row_number() OVER (PARTITION BY id ORDER BY number), number, record FROM message;
DROP TABLE head;
DROP TABLE message;
";

/// Journals of open turns. The rows of one journal have the same turn, and the time of their append.
const FOURTH: &str = "
CREATE TABLE journal (
    id TEXT NOT NULL,
    number INTEGER NOT NULL,
    turn TEXT NOT NULL,
    record TEXT NOT NULL,
    appended INTEGER NOT NULL,
    PRIMARY KEY (id, number)
) STRICT, WITHOUT ROWID;
";

/// The fields of the file header that identify the schema.
struct Header {
    application: i64,
    version: i64,
    tables: i64,
    encoding: String,
}

/// Fails if the file belongs to another application or has a newer schema. Does not write.
pub(super) fn check(connection: &Connection, path: &Path) -> Result<(), TaskFailure> {
    version(&connection.unchecked_transaction()?, path).map(drop)
}

/// Creates or updates the tables in one transaction. Several processes may call it at the same time.
pub(super) fn migrate(connection: &Connection, path: &Path) -> Result<(), TaskFailure> {
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

/// Returns the version of the schema, 0 for an empty file.
///
/// Runs in a transaction, so that it sees the tables of another process completely or not at all.
fn version(transaction: &Transaction<'_>, path: &Path) -> Result<usize, TaskFailure> {
    let Header { application, version, tables, encoding } = header(transaction)?;
    let path = path.display();
    let refuse = |problem: &dyn std::fmt::Display| {
        let message = format!("`{path}` {problem}");
        Err(TaskFailure::Refused(Error::configuration(message)))
    };
    if (application, version, tables) == (0, 0, 0) {
        return Ok(0);
    }
    if application != APPLICATION_ID {
        return refuse(&"is a database of another application; choose another file");
    }
    match usize::try_from(version) {
        Ok(version) if version > MIGRATIONS.len() => refuse(&format_args!(
            "has schema version {version}; this build reads up to {}, update ai-services",
            MIGRATIONS.len()
        )),
        Ok(version @ 1..) if encoding == "UTF-8" => Ok(version),
        _ => {
            let message = format!("the header of `{path}` is damaged, restore it from a backup");
            Err(TaskFailure::Refused(Error::new(ErrorKind::Store, message)))
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
