//! Connections of the pool, with time limits and transactions.

use super::PostgresChatMemoryStore;
use super::connection_options::Server;
use super::deadpool_postgres::Object;
use super::error_mapping::{AttemptFailure, Recovery};
use super::pool::millis;
use super::tokio_postgres::types::{FromSql, ToSql, Type};
use super::tokio_postgres::{self, Row};
use ai_services_core::Error;
use std::error::Error as StdError;
use std::future::Future;
use std::time::Duration;

/// The parameters of a statement.
pub(super) type Parameters<'a> = &'a [&'a (dyn ToSql + Sync)];

/// The parameters of a statement that is not prepared, with their types.
pub(super) type TypedParameters<'a> = &'a [(&'a (dyn ToSql + Sync), Type)];

/// A connection that returns to the pool only in a known state.
///
/// A connection with an outstanding answer or an open transaction is closed instead, and the server rolls
/// back.
pub(super) struct Connection {
    /// `Some` until the connection is dropped.
    object: Option<Object>,
    is_usable: bool,
    limit: Duration,
}

impl PostgresChatMemoryStore {
    pub(super) async fn connect(&self) -> Result<Connection, AttemptFailure> {
        self.0.server.connect().await
    }
}

impl Server {
    pub(super) async fn connect(&self) -> Result<Connection, AttemptFailure> {
        let Self { pool, limits } = self;
        // A pool of the application may not have time limits.
        let limit = limits.wait.saturating_add(limits.connect).saturating_add(limits.operation);
        let object = match tokio::time::timeout(limit, pool.get()).await {
            Ok(Ok(object)) => object,
            Ok(Err(error)) => {
                return Err(AttemptFailure::from_pool_error(error, limits.wait, limits.connect));
            }
            Err(_) => return Err(AttemptFailure::timeout(limit)),
        };
        Ok(Connection { object: Some(object), is_usable: true, limit: limits.operation })
    }
}

impl Connection {
    /// Prepares and runs a statement, and returns its rows.
    pub(super) async fn query(
        &mut self,
        sql: &str,
        parameters: Parameters<'_>,
    ) -> Result<Vec<Row>, AttemptFailure> {
        let was_usable = self.begin_use();
        let client = self.client()?;
        let answer = with_time_limit(self.limit, async {
            let statement = client.prepare_cached(sql).await?;
            client.query(&statement, parameters).await
        });
        let answer = answer.await;
        self.end_use(was_usable, answer)
    }

    /// Prepares and runs a statement, and returns the number of rows that it wrote or returned.
    pub(super) async fn execute(
        &mut self,
        sql: &str,
        parameters: Parameters<'_>,
    ) -> Result<u64, AttemptFailure> {
        let was_usable = self.begin_use();
        let client = self.client()?;
        let answer = with_time_limit(self.limit, async {
            let statement = client.prepare_cached(sql).await?;
            client.execute(&statement, parameters).await
        });
        let answer = answer.await;
        self.end_use(was_usable, answer)
    }

    /// Runs a statement without caching it, and returns its rows. For statements that contain a filter, of
    /// which there are unlimited variants.
    pub(super) async fn query_once(
        &mut self,
        sql: &str,
        parameters: TypedParameters<'_>,
    ) -> Result<Vec<Row>, AttemptFailure> {
        let was_usable = self.begin_use();
        let answer = with_time_limit(self.limit, self.client()?.query_typed(sql, parameters)).await;
        self.end_use(was_usable, answer)
    }

    /// Runs statements without parameters.
    pub(super) async fn batch(&mut self, sql: &str) -> Result<(), AttemptFailure> {
        let was_usable = self.begin_use();
        let answer = with_time_limit(self.limit, self.client()?.batch_execute(sql)).await;
        self.end_use(was_usable, answer)
    }

    /// Begins a transaction with the isolation level `READ COMMITTED`, whatever the default of the database
    /// is.
    ///
    /// If this client stops responding, the server releases the locks after the time limit, so that a retry
    /// on another connection can acquire them.
    pub(super) async fn begin(&mut self) -> Result<(), AttemptFailure> {
        let idle = millis(self.limit);
        let begin = format!(
            "BEGIN ISOLATION LEVEL READ COMMITTED; \
             SET LOCAL idle_in_transaction_session_timeout = {idle}"
        );
        self.batch(&begin).await?;
        self.is_usable = false;
        Ok(())
    }

    pub(super) async fn commit(&mut self) -> Result<(), AttemptFailure> {
        self.batch("COMMIT").await?;
        self.is_usable = true;
        Ok(())
    }

    pub(super) async fn roll_back(&mut self) -> Result<(), AttemptFailure> {
        self.batch("ROLLBACK").await?;
        self.is_usable = true;
        Ok(())
    }

    fn client(&self) -> Result<&Object, AttemptFailure> {
        self.object
            .as_ref()
            .ok_or_else(|| Error::configuration("the connection was dropped").into())
    }

    /// Marks the connection as unusable until the answer arrives, so that a dropped future does not return it
    /// to the pool. Returns whether it was usable before.
    fn begin_use(&mut self) -> bool {
        std::mem::replace(&mut self.is_usable, false)
    }

    /// Marks the connection as usable again, unless the answer shows that it is broken.
    fn end_use<T>(
        &mut self,
        was_usable: bool,
        answer: Result<T, AttemptFailure>,
    ) -> Result<T, AttemptFailure> {
        match answer.as_ref().err().map(|failure| failure.recovery) {
            Some(Recovery::Reconnect) => {}
            Some(Recovery::Reprepare) => {
                // All connections of the pool have the same outdated statements.
                if let Some(pool) = self.object.as_ref().and_then(Object::pool) {
                    pool.manager().statement_caches.clear();
                }
            }
            Some(Recovery::None | Recovery::Retry) | None => self.is_usable = was_usable,
        }
        answer
    }
}

/// Awaits an answer with a time limit.
async fn with_time_limit<T>(
    limit: Duration,
    work: impl Future<Output = Result<T, tokio_postgres::Error>>,
) -> Result<T, AttemptFailure> {
    // 25 % more than the server's limit: if the server cancels first, it is known that no row was written.
    let limit = limit.saturating_add(limit / 4);
    match tokio::time::timeout(limit, work).await {
        Ok(answer) => Ok(answer?),
        Err(_) => Err(AttemptFailure::timeout(limit)),
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if !self.is_usable
            && let Some(object) = self.object.take()
        {
            drop(Object::take(object));
        }
    }
}

/// A text value as raw bytes, so that the record decoder can report invalid UTF-8.
pub(super) struct RawText<'a>(&'a [u8]);

impl AsRef<[u8]> for RawText<'_> {
    fn as_ref(&self) -> &[u8] {
        self.0
    }
}

impl<'a> FromSql<'a> for RawText<'a> {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn StdError + Sync + Send>> {
        Ok(Self(raw))
    }

    fn accepts(kind: &Type) -> bool {
        *kind == Type::TEXT
    }
}
