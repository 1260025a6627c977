//! Creation of the tables, and the check of their version.

use super::error_mapping::{AttemptFailure, pause};
use super::session::{Client, ConditionOutcome};
use ai_services_core::{Error, ErrorKind, Result};
use scylla::response::PagingState;

/// Version of the tables that this build creates and supports.
const VERSION: i32 = 3;

/// Version of tables without the columns of journals, which [`ensure`] adds.
const WITHOUT_JOURNALS: i32 = 2;

/// Maximum number of attempts to create the schema, which several processes may create at the same time.
const ATTEMPTS: u32 = 6;

/// Creates the missing parts of the schema, and checks its version.
pub(super) async fn ensure(client: &Client, replication: &str) -> Result<()> {
    let mut number = 0;
    loop {
        let failure = match create(client, replication).await {
            Ok(()) => return check(client).await,
            Err(failure) => failure,
        };
        number += 1;
        if !failure.is_transient() || number == ATTEMPTS {
            return Err(failure.error);
        }
        pause(number).await;
    }
}

async fn create(client: &Client, replication: &str) -> Result<(), AttemptFailure> {
    let names = client.names();
    // A user without the permission to create a keyspace may still use an existing one.
    if !exists(client, "keyspaces", &names.keyspace, None).await? {
        let keyspace = &names.keyspace;
        let text =
            format!("CREATE KEYSPACE IF NOT EXISTS {keyspace} WITH replication = {replication}");
        client.define(text).await?;
    }
    let tables = [
        (&names.meta, format!("{} (name text PRIMARY KEY, value int)", names.meta_table())),
        (&names.messages, messages(&names.table())),
    ];
    for (table, definition) in tables {
        if !exists(client, "tables", &names.keyspace, Some(table)).await? {
            client.define(format!("CREATE TABLE IF NOT EXISTS {definition}")).await?;
        }
    }
    client.await_schema().await?;
    migrate(client).await?;
    let meta = names.meta_table();
    let insert = format!("INSERT INTO {meta} (name, value) VALUES ('version', ?) IF NOT EXISTS");
    let insert = client.prepare(insert).await.map_err(as_transient)?;
    match client.conditional("write the version of the tables", &insert, (VERSION,)).await? {
        ConditionOutcome::Applied | ConditionOutcome::Refused(_) => Ok(()),
    }
}

/// Adds the columns of journals to tables without them. If the process ends in between, the next call continues.
async fn migrate(client: &Client) -> Result<(), AttemptFailure> {
    let names = client.names();
    let found = version(client).await.map_err(as_transient)?;
    if !matches!(found, None | Some(WITHOUT_JOURNALS)) {
        return Ok(());
    }
    if !has_journals(client).await? {
        let columns = "(journal text static, journal_updated bigint static)";
        let added = client.define(format!("ALTER TABLE {} ADD {columns}", names.table())).await;
        // Another process may have added them in the meantime.
        added.map_err(|failure| as_transient(failure.error))?;
        client.await_schema().await?;
    }
    if found.is_some() {
        let meta = names.meta_table();
        let update = format!("UPDATE {meta} SET value = ? WHERE name = 'version' IF value = ?");
        let update = client.prepare(update).await.map_err(as_transient)?;
        let values = (VERSION, WITHOUT_JOURNALS);
        client.conditional("write the version of the tables", &update, values).await?;
    }
    Ok(())
}

/// Returns whether the table of conversations has the columns of journals.
async fn has_journals(client: &Client) -> Result<bool, AttemptFailure> {
    let text = "SELECT column_name FROM system_schema.columns \
                WHERE keyspace_name = ? AND table_name = ? AND column_name = 'journal_updated'";
    let statement = client.prepare(text.to_owned()).await.map_err(as_transient)?;
    let (action, start) = ("look for the columns", PagingState::start());
    let values = (&client.names().keyspace, &client.names().messages);
    let page = client.page(action, &statement, &values, start).await;
    page.map(|(rows, _)| rows.rows_num() > 0).map_err(as_transient)
}

/// Returns the definition of the table of conversations.
///
/// A conversation is read completely, and its rows are inserted and deleted often. Leveled compaction stores
/// its rows in few files, and drops the tombstones of evicted messages early.
fn messages(table: &str) -> String {
    format!(
        "{table} (id text, kind tinyint, number bigint, record text, commits blob, \
         version bigint static, messages bigint static, last_updated bigint static, \
         lease bigint static, journal text static, journal_updated bigint static, PRIMARY KEY (id, kind, number)) \
         WITH compaction = {{'class': 'LeveledCompactionStrategy'}} \
         AND comment = 'Conversations of ai-services'"
    )
}

/// Returns whether a keyspace or a table exists. `kind` is `keyspaces` or `tables`.
async fn exists(
    client: &Client,
    kind: &str,
    keyspace: &str,
    table: Option<&str>,
) -> Result<bool, AttemptFailure> {
    let condition = if table.is_some() { " AND table_name = ?" } else { "" };
    let text = format!(
        "SELECT keyspace_name FROM system_schema.{kind} WHERE keyspace_name = ?{condition}"
    );
    let statement = client.prepare(text).await.map_err(as_transient)?;
    let action = "look for the tables";
    let start = PagingState::start();
    let page = match table {
        Some(table) => client.page(action, &statement, &(keyspace, table), start).await,
        None => client.page(action, &statement, &(keyspace,), start).await,
    };
    page.map(|(rows, _)| rows.rows_num() > 0).map_err(as_transient)
}

/// Marks an error as transient, unless it is an authentication error: a node may not yet see the tables that
/// another node has just created.
fn as_transient(error: Error) -> AttemptFailure {
    match error.kind() {
        ErrorKind::Authentication => AttemptFailure::is_final(error),
        _ => AttemptFailure::transient(error),
    }
}

/// Returns the version of the tables, `None` if it was not written, and 0 if it is null.
async fn version(client: &Client) -> Result<Option<i32>> {
    let meta = client.names().meta_table();
    let statement =
        client.prepare(format!("SELECT value FROM {meta} WHERE name = 'version'")).await?;
    let action = "read the version of the tables";
    let (rows, _) = client.page(action, &statement, &(), PagingState::start()).await?;
    let found = rows.maybe_first_row::<(Option<i32>,)>();
    let found = found.map_err(|error| AttemptFailure::answer(action, error).error)?;
    Ok(found.map(|(version,)| version.unwrap_or(0)))
}

/// Fails if the tables are missing, or older or newer than this build.
pub(super) async fn check(client: &Client) -> Result<()> {
    let keyspace = &client.names().keyspace;
    let message = match version(client).await? {
        Some(VERSION) => return Ok(()),
        Some(found) if found > VERSION => format!(
            "the tables in `{keyspace}` have version {found}; this build supports {VERSION}, update ai-services"
        ),
        Some(WITHOUT_JOURNALS) => format!(
            "the tables in `{keyspace}` have version {WITHOUT_JOURNALS}; this build needs {VERSION}: call \
             `ensure_schema` once"
        ),
        Some(found @ 1..) => format!(
            "the tables in `{keyspace}` have version {found}; this build needs {VERSION}: drop them, or choose \
             another keyspace or `table_prefix`"
        ),
        Some(_) => format!(
            "the version in `{}` is invalid; the table may belong to another program",
            client.names().meta_table()
        ),
        None => format!(
            "`{}` does not contain the version of the tables; call `ensure_schema` once",
            client.names().meta_table()
        ),
    };
    Err(Error::configuration(message))
}
