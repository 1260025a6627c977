//! Creating the tables, and checking their version.

use super::fault::{Fault, pause};
use super::session::{Client, Verdict};
use ai_services_core::{Error, ErrorKind, Result};
use scylla::response::PagingState;

/// The version of the tables.
const VERSION: i32 = 1;

/// How often the schema is tried to be created. Several processes may be at it.
const ATTEMPTS: u32 = 6;

/// Creates what is missing.
pub(super) async fn ensure(client: &Client, replication: &str) -> Result<()> {
    let mut number = 0;
    loop {
        let fault = match create(client, replication).await {
            Ok(()) => return check(client).await,
            Err(fault) => fault,
        };
        number += 1;
        if !fault.is_transient() || number == ATTEMPTS {
            return Err(fault.error);
        }
        pause(number).await;
    }
}

async fn create(client: &Client, replication: &str) -> Result<(), Fault> {
    let names = client.names();
    // Whoever may not create a keyspace may still use one that exists.
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
    let insert = client.prepare(insert).await.map_err(settling)?;
    match client.conditional("write the version of the tables", &insert, (VERSION,)).await? {
        Verdict::Applied | Verdict::Refused(_) => Ok(()),
    }
}

/// A conversation is read as a whole, and rows come and go in it: leveled compaction keeps what has to
/// be looked at for that in few files, and drops early what evicted messages leave behind.
fn messages(table: &str) -> String {
    format!(
        "{table} (id text, kind tinyint, number bigint, record text, row_token bigint, \
         version bigint static, messages bigint static, last_used bigint static, \
         commit_token bigint static, lease bigint static, PRIMARY KEY (id, kind, number)) \
         WITH compaction = {{'class': 'LeveledCompactionStrategy'}} \
         AND comment = 'Conversations of ai-services'"
    )
}

async fn exists(
    client: &Client,
    what: &str,
    keyspace: &str,
    table: Option<&str>,
) -> Result<bool, Fault> {
    let condition = if table.is_some() { " AND table_name = ?" } else { "" };
    let text = format!(
        "SELECT keyspace_name FROM system_schema.{what} WHERE keyspace_name = ?{condition}"
    );
    let statement = client.prepare(text).await.map_err(settling)?;
    let what = "look for the tables";
    let start = PagingState::start();
    let page = match table {
        Some(table) => client.page(what, &statement, &(keyspace, table), start).await,
        None => client.page(what, &statement, &(keyspace,), start).await,
    };
    page.map(|(rows, _)| rows.rows_num() > 0).map_err(settling)
}

/// A node that does not know yet what another has just created may do so soon.
fn settling(error: Error) -> Fault {
    match error.kind() {
        ErrorKind::Authentication => Fault::is_final(error),
        _ => Fault::transient(error),
    }
}

/// Refuses tables that are missing or newer than this build.
pub(super) async fn check(client: &Client) -> Result<()> {
    let meta = client.names().meta_table();
    let statement =
        client.prepare(format!("SELECT value FROM {meta} WHERE name = 'version'")).await?;
    let what = "read the version of the tables";
    let (rows, _) = client.page(what, &statement, &(), PagingState::start()).await?;
    let found = rows.maybe_first_row::<(Option<i32>,)>();
    match found.map_err(|error| Fault::answer(what, error).error)? {
        Some((Some(VERSION),)) => Ok(()),
        Some((Some(found),)) if found > VERSION => Err(Error::configuration(format!(
            "the tables in `{}` have version {found}; this build knows {VERSION}, update ai-services",
            client.names().keyspace
        ))),
        Some(_) => Err(Error::configuration(format!(
            "the version in `{meta}` is none that there ever was; is it the table of another program?"
        ))),
        None => Err(Error::configuration(format!(
            "`{meta}` does not say which version the tables have; call `ensure_schema` once"
        ))),
    }
}
