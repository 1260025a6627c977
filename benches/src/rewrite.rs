//! Memories as in LangChain4j: one text per conversation, which is read and written as a whole for each
//! added message.

use ai_services::message::{ChatMessage, messages_from_json, messages_to_json};
use redis::AsyncCommands;
use rusqlite::OptionalExtension;
use scylla::client::session::Session;
use scylla::client::session_builder::SessionBuilder;
use scylla::statement::prepared::PreparedStatement;
use std::path::Path;

/// A database with one text per id.
#[derive(Debug)]
pub enum ListStore {
    /// A SQLite file, with the durability of the store.
    Sqlite(rusqlite::Connection),
    /// A connection to PostgreSQL.
    Postgres(tokio_postgres::Client),
    /// A connection to Redis.
    Redis(redis::aio::MultiplexedConnection),
    /// A session of Cassandra.
    Cassandra(Box<Cassandra>),
}

/// A session of Cassandra with its prepared statements.
#[derive(Debug)]
pub struct Cassandra {
    session: Session,
    read: PreparedStatement,
    write: PreparedStatement,
}

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

impl ListStore {
    /// Creates a file in this directory.
    ///
    /// # Errors
    ///
    /// Returns the errors of the driver.
    pub fn sqlite(directory: &Path) -> Result<Self> {
        let connection = rusqlite::Connection::open(directory.join("rewrite.sqlite"))?;
        connection.execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
             CREATE TABLE memory (id TEXT PRIMARY KEY, messages TEXT NOT NULL) WITHOUT ROWID",
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
        client
            .batch_execute("CREATE TABLE memory (id text PRIMARY KEY, messages text NOT NULL)")
            .await?;
        Ok(Self::Postgres(client))
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

    /// Creates a table on this node.
    ///
    /// # Errors
    ///
    /// Returns the errors of the driver.
    pub async fn cassandra(address: &str) -> Result<Self> {
        let session = SessionBuilder::new().known_node(address).build().await?;
        for statement in [
            "CREATE KEYSPACE rewrite WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
            "CREATE TABLE rewrite.memory (id text PRIMARY KEY, messages text)",
        ] {
            session.query_unpaged(statement, ()).await?;
        }
        let read = session.prepare("SELECT messages FROM rewrite.memory WHERE id = ?").await?;
        let write =
            session.prepare("INSERT INTO rewrite.memory (id, messages) VALUES (?, ?)").await?;
        Ok(Self::Cassandra(Box::new(Cassandra { session, read, write })))
    }

    /// Returns all messages of an id.
    ///
    /// # Errors
    ///
    /// Returns the errors of the driver.
    pub async fn load(&mut self, id: &str) -> Result<Vec<ChatMessage>> {
        let text = match self {
            Self::Sqlite(connection) => connection
                .prepare_cached("SELECT messages FROM memory WHERE id = ?1")?
                .query_row([id], |row| row.get(0))
                .optional()?,
            Self::Postgres(client) => {
                let rows =
                    client.query("SELECT messages FROM memory WHERE id = $1", &[&id]).await?;
                rows.first().map(|row| row.get(0))
            }
            Self::Redis(connection) => connection.get(id).await?,
            Self::Cassandra(cassandra) => {
                let rows = cassandra.session.execute_unpaged(&cassandra.read, (id,)).await?;
                rows.into_rows_result()?.maybe_first_row::<(String,)>()?.map(|(text,)| text)
            }
        };
        let text: String = text.unwrap_or_default();
        Ok(messages_from_json(&text)?.to_vec())
    }

    /// Replaces all messages of an id.
    ///
    /// # Errors
    ///
    /// Returns the errors of the driver.
    pub async fn store(&mut self, id: &str, messages: &[ChatMessage]) -> Result<()> {
        let text = messages_to_json(messages)?;
        match self {
            Self::Sqlite(connection) => {
                let upsert = "INSERT INTO memory VALUES (?1, ?2)
                              ON CONFLICT (id) DO UPDATE SET messages = excluded.messages";
                connection.prepare_cached(upsert)?.execute([id, &text])?;
            }
            Self::Postgres(client) => {
                let upsert = "INSERT INTO memory VALUES ($1, $2)
                              ON CONFLICT (id) DO UPDATE SET messages = excluded.messages";
                client.execute(upsert, &[&id, &text]).await?;
            }
            Self::Redis(connection) => connection.set::<_, _, ()>(id, text).await?,
            Self::Cassandra(cassandra) => {
                cassandra.session.execute_unpaged(&cassandra.write, (id, text)).await?;
            }
        }
        Ok(())
    }

    /// Adds a message to a window of this size, as a memory of LangChain4j does.
    ///
    /// # Errors
    ///
    /// Returns the errors of the driver.
    pub async fn add(&mut self, id: &str, message: ChatMessage, window: usize) -> Result<()> {
        let mut messages = self.load(id).await?;
        messages.push(message);
        messages.drain(..messages.len().saturating_sub(window));
        self.store(id, &messages).await
    }
}
