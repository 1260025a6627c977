//! Creation of the tables, and the check of their version.

use super::error_mapping::{AttemptFailure, pause};
use super::session::{Client, ConditionOutcome};
use ai_services_core::{Error, ErrorKind, Result};
use scylla::response::PagingState;

/// Version of the tables that this build creates and supports.
const VERSION: i32 = 2;

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
    let meta = names.meta_table();
    let insert = format!("INSERT INTO {meta} (name, value) VALUES ('version', ?) IF NOT EXISTS");
    let insert = client.prepare(insert).await.map_err(as_transient)?;
    match client.conditional("write the version of the tables", &insert, (VERSION,)).await? {
        ConditionOutcome::Applied | ConditionOutcome::Refused(_) => Ok(()),
    }
}

/// Returns the definition of the table of conversations.
///
/// A conversation is read completely, and its rows are inserted and deleted often. Leveled compaction stores
/// its rows in few files, and drops the tombstones of evicted messages early.
fn messages(table: &str) -> String {
    format!(
        "{table} (id text, kind tinyint, number bigint, record text, commits blob, \
         version bigint static, messages bigint static, last_updated bigint static, \
         lease bigint static, PRIMARY KEY (id, kind, number)) \
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

/// Fails if the tables are missing or newer than this build.
pub(super) async fn check(client: &Client) -> Result<()> {
    let meta = client.names().meta_table();
    let statement =
        client.prepare(format!("SELECT value FROM {meta} WHERE name = 'version'")).await?;
    let action = "read the version of the tables";
    let (rows, _) = client.page(action, &statement, &(), PagingState::start()).await?;
    let found = rows.maybe_first_row::<(Option<i32>,)>();
    match found.map_err(|error| AttemptFailure::answer(action, error).error)? {
        Some((Some(VERSION),)) => Ok(()),
        Some((Some(found),)) if found > VERSION => Err(Error::configuration(format!(
            "the tables in `{}` have version {found}; this build supports {VERSION}, update ai-services",
            client.names().keyspace
        ))),
        Some((Some(found @ 1..),)) => Err(Error::configuration(format!(
            "the tables in `{}` have version {found}; this build needs {VERSION}: drop them, or choose \
             another keyspace or `table_prefix`",
            client.names().keyspace
        ))),
        Some(_) => Err(Error::configuration(format!(
            "the version in `{meta}` is invalid; the table may belong to another program"
        ))),
        None => Err(Error::configuration(format!(
            "`{meta}` does not contain the version of the tables; call `ensure_schema` once"
        ))),
    }
}
