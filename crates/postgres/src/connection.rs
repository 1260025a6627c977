//! One connection of the pool, in use.

use super::PostgresChatMemoryStore;
use super::access::Server;
use super::deadpool_postgres::Object;
use super::fault::{Cure, Fault};
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

/// How long the parts of an operation may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// For a connection of the pool to become free.
    pub(super) wait: Duration,
    /// For a new connection.
    pub(super) connect: Duration,
    /// For one statement, at the server.
    pub(super) operation: Duration,
}

/// A connection that goes back to the pool only in a known state.
///
/// One on which an answer is overdue, or in the middle of a transaction, is closed instead: nobody
/// else waits for that answer, and the server rolls back.
pub(super) struct Connection {
    /// Always there until the drop.
    object: Option<Object>,
    is_usable: bool,
    limit: Duration,
}

impl PostgresChatMemoryStore {
    pub(super) async fn connect(&self) -> Result<Connection, Fault> {
        self.0.server.connect().await
    }
}

impl Server {
    pub(super) async fn connect(&self) -> Result<Connection, Fault> {
        let Self { pool, limits } = self;
        // A pool of the application may know no limits.
        let limit = limits.wait.saturating_add(limits.connect).saturating_add(limits.operation);
        let object = match tokio::time::timeout(limit, pool.get()).await {
            Ok(Ok(object)) => object,
            Ok(Err(error)) => return Err(Fault::of_pool(error, limits.wait, limits.connect)),
            Err(_) => return Err(Fault::timeout(limit)),
        };
        Ok(Connection { object: Some(object), is_usable: true, limit: limits.operation })
    }
}

impl Connection {
    /// The rows that a statement gives.
    pub(super) async fn query(
        &mut self,
        sql: &str,
        parameters: Parameters<'_>,
    ) -> Result<Vec<Row>, Fault> {
        let was_usable = self.begin_use();
        let client = self.client()?;
        let answer = limited(self.limit, async {
            let statement = client.prepare_cached(sql).await?;
            client.query(&statement, parameters).await
        });
        let answer = answer.await;
        self.end_use(was_usable, answer)
    }

    /// How many rows a statement has written or given.
    pub(super) async fn execute(
        &mut self,
        sql: &str,
        parameters: Parameters<'_>,
    ) -> Result<u64, Fault> {
        let was_usable = self.begin_use();
        let client = self.client()?;
        let answer = limited(self.limit, async {
            let statement = client.prepare_cached(sql).await?;
            client.execute(&statement, parameters).await
        });
        let answer = answer.await;
        self.end_use(was_usable, answer)
    }

    /// The rows that a statement gives that is not worth being kept: one that is put together of
    /// parts that somebody else may choose, so that there is no end of different ones.
    pub(super) async fn query_once(
        &mut self,
        sql: &str,
        parameters: TypedParameters<'_>,
    ) -> Result<Vec<Row>, Fault> {
        let was_usable = self.begin_use();
        let answer = limited(self.limit, self.client()?.query_typed(sql, parameters)).await;
        self.end_use(was_usable, answer)
    }

    /// Statements without parameters.
    pub(super) async fn batch(&mut self, sql: &str) -> Result<(), Fault> {
        let was_usable = self.begin_use();
        let answer = limited(self.limit, self.client()?.batch_execute(sql)).await;
        self.end_use(was_usable, answer)
    }

    /// Begins a transaction in which each statement sees what was committed before it, whatever
    /// the database's own default is.
    ///
    /// If this machine falls silent, the server lets go of the locks when a second attempt, after the
    /// time limit of the first one, may wait for them.
    pub(super) async fn begin(&mut self) -> Result<(), Fault> {
        let idle = millis(self.limit);
        let begin = format!(
            "BEGIN ISOLATION LEVEL READ COMMITTED; \
             SET LOCAL idle_in_transaction_session_timeout = {idle}"
        );
        self.batch(&begin).await?;
        self.is_usable = false;
        Ok(())
    }

    pub(super) async fn commit(&mut self) -> Result<(), Fault> {
        self.batch("COMMIT").await?;
        self.is_usable = true;
        Ok(())
    }

    pub(super) async fn roll_back(&mut self) -> Result<(), Fault> {
        self.batch("ROLLBACK").await?;
        self.is_usable = true;
        Ok(())
    }

    fn client(&self) -> Result<&Object, Fault> {
        self.object.as_ref().ok_or_else(|| Error::configuration("the connection is gone").into())
    }

    /// Until the answer is there, a dropped future must not hand the connection on.
    fn begin_use(&mut self) -> bool {
        std::mem::replace(&mut self.is_usable, false)
    }

    fn end_use<T>(&mut self, was_usable: bool, answer: Result<T, Fault>) -> Result<T, Fault> {
        match answer.as_ref().err().map(|fault| fault.cure) {
            Some(Cure::Reconnect) => {}
            Some(Cure::Prepare) => {
                // All connections of the pool have the same old statements.
                if let Some(pool) = self.object.as_ref().and_then(Object::pool) {
                    pool.manager().statement_caches.clear();
                }
            }
            Some(Cure::None | Cure::Repeat) | None => self.is_usable = was_usable,
        }
        answer
    }
}

/// A time limit in milliseconds, as settings of the server have it. There 0 would be none.
pub(super) fn millis(limit: Duration) -> i32 {
    i32::try_from(limit.as_millis()).unwrap_or(i32::MAX).max(1)
}

async fn limited<T>(
    limit: Duration,
    work: impl Future<Output = Result<T, tokio_postgres::Error>>,
) -> Result<T, Fault> {
    // The server is to be the first to give up: then it is known that nothing was written.
    let limit = limit.saturating_add(limit / 4);
    match tokio::time::timeout(limit, work).await {
        Ok(answer) => Ok(answer?),
        Err(_) => Err(Fault::timeout(limit)),
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

/// A text as the bytes it came in: who reads it checks it.
pub(super) struct Text<'a>(&'a [u8]);

impl AsRef<[u8]> for Text<'_> {
    fn as_ref(&self) -> &[u8] {
        self.0
    }
}

impl<'a> FromSql<'a> for Text<'a> {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn StdError + Sync + Send>> {
        Ok(Self(raw))
    }

    fn accepts(kind: &Type) -> bool {
        *kind == Type::TEXT
    }
}
