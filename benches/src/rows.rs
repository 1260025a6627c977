//! Conversations with one row per message, read with only the drivers: the lower bound of a load.

use redis::AsyncCommands;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// A database with one row per message.
#[derive(Debug)]
pub enum RowStore {
    /// A SQLite file.
    Sqlite(rusqlite::Connection),
    /// A connection to PostgreSQL.
    Postgres(tokio_postgres::Client, tokio_postgres::Statement),
    /// A connection to Redis.
    Redis(redis::aio::MultiplexedConnection),
}

/// A message of a list in Redis.
#[derive(Debug, Deserialize, Serialize)]
struct Row {
    kind: u8,
    text: String,
}

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

const READ: &str = "SELECT kind, text FROM entry WHERE id = $1 ORDER BY number";
const WRITE: &str = "INSERT INTO entry VALUES ($1, $2, $3, $4)";

impl RowStore {
    /// Creates a file in this directory.
    ///
    /// # Errors
    ///
    /// Returns the errors of the driver.
    pub fn sqlite(directory: &Path) -> Result<Self> {
        let connection = rusqlite::Connection::open(directory.join("rows.sqlite"))?;
        connection.execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
             CREATE TABLE entry (id TEXT, number INTEGER, kind INTEGER, text TEXT, PRIMARY KEY (id, number)) WITHOUT ROWID",
        )?;
        Ok(Self::Sqlite(connection))
    }

    /// Creates a table on this server.
    ///
    /// # Errors
    ///
    /// Returns the errors of the driver.
    pub async fn postgres(url: &str) -> Result<Self> {
        let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await?;
        #[allow(clippy::disallowed_methods, reason = "required by the driver")]
        tokio::spawn(connection);
        let table = "CREATE TABLE entry (id text, number bigint, kind int, text text, PRIMARY KEY (id, number))";
        client.batch_execute(table).await?;
        let read = client.prepare(READ).await?;
        Ok(Self::Postgres(client, read))
    }

    /// Connects to this server.
    ///
    /// # Errors
    ///
    /// Returns the errors of the driver.
    pub async fn redis(url: &str) -> Result<Self> {
        let client = redis::Client::open(url)?;
        Ok(Self::Redis(client.get_multiplexed_async_connection().await?))
    }

    /// Adds messages to an id without messages. The kinds alternate.
    ///
    /// # Errors
    ///
    /// Returns the errors of the driver.
    pub async fn fill(&mut self, id: &str, texts: &[String]) -> Result<()> {
        for (number, text) in (0_i32..).zip(texts) {
            let kind = number % 2;
            match self {
                Self::Sqlite(connection) => {
                    connection.prepare_cached(WRITE)?.execute((id, number, kind, text))?;
                }
                Self::Postgres(client, _) => {
                    client.execute(WRITE, &[&id, &i64::from(number), &kind, text]).await?;
                }
                Self::Redis(connection) => {
                    let row = Row { kind: kind.try_into()?, text: text.clone() };
                    let row = serde_json::to_string(&row)?;
                    connection.rpush::<_, _, ()>(key(id), row).await?;
                }
            }
        }
        Ok(())
    }

    /// Returns all messages of an id: kinds and texts.
    ///
    /// # Errors
    ///
    /// Returns the errors of the driver.
    pub async fn load(&mut self, id: &str) -> Result<Vec<(i32, String)>> {
        match self {
            Self::Sqlite(connection) => {
                let mut read = connection.prepare_cached(READ)?;
                let rows = read.query_map([id], |row| Ok((row.get(0)?, row.get(1)?)))?;
                Ok(rows.collect::<std::result::Result<_, _>>()?)
            }
            Self::Postgres(client, read) => {
                let rows = client.query(&*read, &[&id]).await?;
                Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
            }
            Self::Redis(connection) => {
                let rows: Vec<String> = connection.lrange(key(id), 0, -1).await?;
                let read = |row: &String| serde_json::from_str::<Row>(row);
                let rows =
                    rows.iter().map(read).map(|row| row.map(|row| (row.kind.into(), row.text)));
                Ok(rows.collect::<std::result::Result<_, _>>()?)
            }
        }
    }
}

/// Returns the key of a list in Redis. The store on the same server has other keys.
fn key(id: &str) -> String {
    format!("rows:{id}")
}
