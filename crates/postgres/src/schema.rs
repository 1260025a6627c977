//! Creation and migration of the tables.

use super::PostgresChatMemoryStore;
use super::connection::Connection;
use super::error_mapping::AttemptFailure;
use super::table_names::TableNames;
use ai_services_core::store_kit::failpoint::failpoint;
use ai_services_core::{Error, Result};

/// Migrations: entry `n` migrates layout `n` to layout `n + 1`. Layout 0 has no tables.
const MIGRATIONS: &[&str] = &[FIRST, SECOND, THIRD, FOURTH];

/// Migration that creates the tables.
///
/// The fill factor and the lack of an index on changing columns allow updates of heads without index writes
/// (HOT updates). Columns with a fixed length come first.
const FIRST: &str = "\
CREATE TABLE {conversations} (\
    version bigint NOT NULL, messages bigint NOT NULL, last_used bigint NOT NULL, \
    token bigint NOT NULL, key bytea PRIMARY KEY, id bytea NOT NULL\
) WITH (fillfactor = 70);\
CREATE TABLE {messages} (\
    number bigint NOT NULL, token bigint NOT NULL, key bytea NOT NULL, record text NOT NULL, \
    PRIMARY KEY (key, number)\
);\
CREATE TABLE {history} (\
    number bigint NOT NULL, token bigint NOT NULL, key bytea NOT NULL, record text NOT NULL, \
    PRIMARY KEY (key, number)\
);\
CREATE TABLE {leases} (\
    token bigint NOT NULL, ends timestamptz NOT NULL, key bytea PRIMARY KEY\
) WITH (fillfactor = 70);\
CREATE TABLE {layout} (version bigint NOT NULL);\
INSERT INTO {layout} VALUES (0);";

/// A log of commits replaces the tokens of commits, and leases have a start.
const SECOND: &str = "\
ALTER TABLE {conversations} RENAME COLUMN last_used TO last_updated;\
ALTER TABLE {conversations} DROP COLUMN token, ADD COLUMN commits bytea NOT NULL DEFAULT '';\
ALTER TABLE {messages} DROP COLUMN token;\
ALTER TABLE {history} DROP COLUMN token;\
DELETE FROM {leases};\
ALTER TABLE {leases} ADD COLUMN begins timestamptz NOT NULL;";

/// Heads have lower bounds of the numbers in memory. Until the next commit, 0 bounds nothing.
const THIRD: &str = "\
ALTER TABLE {conversations} ADD COLUMN oldest bigint NOT NULL DEFAULT 0, \
    ADD COLUMN second_oldest bigint NOT NULL DEFAULT 0;";

/// Journals: a head for each open one, and its records, which may contain NUL, so that they are not `text`.
const FOURTH: &str = "\
CREATE TABLE {journals} (\
    length bigint NOT NULL CHECK (length > 0), last_updated bigint NOT NULL, turn uuid NOT NULL, \
    key bytea PRIMARY KEY, id bytea NOT NULL\
) WITH (fillfactor = 70);\
CREATE TABLE {journal_rows} (\
    number bigint NOT NULL, key bytea NOT NULL, record bytea NOT NULL, PRIMARY KEY (key, number)\
);";

/// Statement that takes the advisory lock for creating or changing tables. `CREATE TABLE IF NOT EXISTS` alone
/// fails if two processes run it at the same time. The number is `ai_servi` in ASCII.
pub(super) const LOCK: &str = "SELECT pg_advisory_xact_lock(7019246443461506665)";

impl PostgresChatMemoryStore {
    pub(super) async fn ensure_schema_once(&self) -> Result<(), AttemptFailure> {
        let tables = &self.0.tables;
        let mut connection = self.connect().await?;
        connection.begin().await?;
        connection.query(LOCK, &[]).await?;
        check_encoding(&mut connection).await?;
        let known = layout(&mut connection, tables).await?;
        if known == MIGRATIONS.len() {
            return connection.roll_back().await;
        }
        if known == 0 {
            create_schema(&mut connection, tables.schema.as_deref()).await?;
        }
        for migration in MIGRATIONS.get(known..).unwrap_or_default() {
            connection.batch(&tables.fill(migration)).await?;
            failpoint!("postgres.schema.migrated");
        }
        let version = i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX);
        connection.execute(&tables.fill("UPDATE {layout} SET version = $1"), &[&version]).await?;
        failpoint!("postgres.schema.written");
        connection.commit().await
    }
}

/// Returns the version of the existing tables; 0 if there are none.
async fn layout(connection: &mut Connection, tables: &TableNames) -> Result<usize, AttemptFailure> {
    let name = tables.name("layout");
    let found = connection.query("SELECT to_regclass($1) IS NOT NULL", &[&name]).await?;
    let is_there: bool = found.first().map(|row| row.try_get(0)).transpose()?.unwrap_or(false);
    if !is_there {
        return Ok(0);
    }
    let found = connection.query(&tables.fill("SELECT version FROM {layout}"), &[]).await?;
    let version: i64 = found.first().map(|row| row.try_get(0)).transpose()?.unwrap_or(-1);
    match usize::try_from(version) {
        Ok(version) if (1..=MIGRATIONS.len()).contains(&version) => Ok(version),
        Ok(version) if version > MIGRATIONS.len() => Err(Error::configuration(format!(
            "the tables of `{name}` have layout {version}; this build supports layouts up to {}, update \
             ai-services",
            MIGRATIONS.len()
        ))
        .into()),
        _ => Err(Error::configuration(format!(
            "the table `{name}` does not contain the layout of the tables; if it belongs to another \
             program, choose another `table_prefix`"
        ))
        .into()),
    }
}

/// Creates the schema if it does not exist. `IF NOT EXISTS` would need the privilege to create schemas even
/// if the schema exists.
pub(super) async fn create_schema(
    connection: &mut Connection,
    schema: Option<&str>,
) -> Result<(), AttemptFailure> {
    let Some(schema) = schema else { return Ok(()) };
    let quoted = format!("\"{schema}\"");
    let found = connection.query("SELECT to_regnamespace($1) IS NULL", &[&quoted]).await?;
    if found.first().map(|row| row.try_get(0)).transpose()? == Some(true) {
        connection.batch(&format!("CREATE SCHEMA {quoted}")).await?;
    }
    Ok(())
}

/// Fails unless the encoding of the database is UTF-8.
pub(super) async fn check_encoding(connection: &mut Connection) -> Result<(), AttemptFailure> {
    let found = connection.query("SELECT current_setting('server_encoding')", &[]).await?;
    let encoding: String = found.first().map(|row| row.try_get(0)).transpose()?.unwrap_or_default();
    match encoding.as_str() {
        "UTF8" => Ok(()),
        other => Err(Error::configuration(format!(
            "the encoding of the database is {other}, which cannot represent every text; create a \
             database with `ENCODING 'UTF8'`"
        ))
        .into()),
    }
}
