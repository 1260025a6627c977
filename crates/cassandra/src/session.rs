//! Requests to the cluster.

use super::fault::{Attempts, Fault};
use super::schema;
use super::settings::CassandraConsistency;
use super::statements::{Names, Statements};
use ai_services_core::Result;
use scylla::client::execution_profile::{ExecutionProfile, ExecutionProfileHandle};
use scylla::client::session::Session;
use scylla::policies::load_balancing::DefaultPolicy;
use scylla::policies::retry::FallthroughRetryPolicy;
use scylla::response::query_result::QueryRowsResult;
use scylla::response::{PagingState, PagingStateResponse};
use scylla::serialize::row::SerializeRow;
use scylla::statement::batch::{Batch, BatchType};
use scylla::statement::prepared::PreparedStatement;
use scylla::statement::unprepared::Statement;
use scylla::value::{CqlValue, Row};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::OnceCell;
use tokio::time::timeout;

/// How long creating a table may take: every node has to agree.
const SCHEMA_TIMEOUT: Duration = Duration::from_secs(60);

/// A session with everything that requests need.
pub(super) struct Client {
    session: Arc<Session>,
    names: Names,
    profile: ExecutionProfileHandle,
    consistency: CassandraConsistency,
    request_timeout: Duration,
    statements: OnceCell<Statements>,
}

/// The values of one row of a batch.
type Values<'a> = Box<dyn SerializeRow + Send + Sync + 'a>;

/// Statements on one partition that are all applied or none, if its condition holds.
pub(super) struct ConditionalBatch<'a> {
    batch: Batch,
    values: Vec<Values<'a>>,
}

/// What became of a conditional request.
#[derive(Debug)]
pub(super) enum Verdict {
    Applied,
    /// The condition does not hold.
    Refused(Present),
}

/// What a condition has found. Nothing if there was nothing at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Present {
    pub(super) version: Option<i64>,
    pub(super) lease: Option<i64>,
}

/// How the requests of a store are made. Those of others on the same session are left alone.
pub(super) fn profile(
    consistency: CassandraConsistency,
    local_datacenter: Option<&str>,
    request_timeout: Duration,
) -> ExecutionProfileHandle {
    let (quorum, serial) = consistency.levels();
    let mut policy = DefaultPolicy::builder().token_aware(true);
    if let Some(name) = local_datacenter {
        // A majority of one data centre has to be asked for in that data centre.
        let may_leave = consistency == CassandraConsistency::Global;
        policy = policy.prefer_datacenter(name.to_owned()).permit_dc_failover(may_leave);
    }
    ExecutionProfile::builder()
        .consistency(quorum)
        .serial_consistency(Some(serial))
        .request_timeout(Some(request_timeout))
        .load_balancing_policy(policy.build())
        // A repeated transaction can be refused because of its own success: only the store can tell.
        .retry_policy(Arc::new(FallthroughRetryPolicy::new()))
        .build()
        .into_handle()
}

impl Client {
    pub(super) fn new(
        session: Arc<Session>,
        names: Names,
        profile: ExecutionProfileHandle,
        consistency: CassandraConsistency,
        request_timeout: Duration,
    ) -> Self {
        let statements = OnceCell::new();
        Self { session, names, profile, consistency, request_timeout, statements }
    }

    pub(super) fn names(&self) -> &Names {
        &self.names
    }

    pub(super) fn is_local(&self) -> bool {
        self.consistency == CassandraConsistency::Local
    }

    /// The statements, prepared at the first call: the tables may be created after the store.
    pub(super) async fn statements(&self) -> Result<&Statements> {
        let prepare = async || {
            schema::check(self).await?;
            Statements::prepare(self).await
        };
        self.statements.get_or_try_init(prepare).await
    }

    /// The attempts at a request.
    pub(super) fn attempts(&self) -> Attempts {
        Attempts::within(self.request_timeout)
    }

    /// Makes a request that does no harm if it is made twice until it succeeds or there is no hope.
    pub(super) async fn retried<T, F>(&self, mut request: impl FnMut() -> F + Send) -> Result<T>
    where
        F: Future<Output = Result<T, Fault>> + Send,
    {
        let mut attempts = self.attempts();
        loop {
            match request().await {
                Ok(value) => return Ok(value),
                Err(fault) => attempts.failed(fault).await?,
            }
        }
    }

    pub(super) async fn prepare(&self, text: String) -> Result<PreparedStatement> {
        let mut statement = Statement::new(text);
        statement.set_execution_profile_handle(Some(self.profile.clone()));
        self.retried(|| self.prepare_once(statement.clone())).await
    }

    async fn prepare_once(&self, statement: Statement) -> Result<PreparedStatement, Fault> {
        // The driver itself waits for as long as a node is silent.
        match timeout(self.request_timeout, self.session.prepare(statement)).await {
            Ok(prepared) => prepared.map_err(Fault::prepare),
            Err(_) => Err(Fault::prepare_timeout(self.request_timeout)),
        }
    }

    /// Changes the schema.
    pub(super) async fn define(&self, text: String) -> Result<(), Fault> {
        let mut statement = Statement::new(text);
        statement.set_execution_profile_handle(Some(self.profile.clone()));
        statement.set_request_timeout(Some(SCHEMA_TIMEOUT));
        let done = self.session.query_unpaged(statement, ()).await;
        done.map(drop).map_err(|error| Fault::execution("change the schema", error))
    }

    /// Waits until all nodes know of the last change of the schema.
    pub(super) async fn await_schema(&self) -> Result<(), Fault> {
        let agreed = self.session.await_schema_agreement().await;
        agreed.map(drop).map_err(|error| Fault::execution("agree on a schema", error.into()))
    }

    /// One page of what a statement reads.
    pub(super) async fn page(
        &self,
        what: &str,
        statement: &PreparedStatement,
        values: &(impl SerializeRow + Sync),
        state: PagingState,
    ) -> Result<(QueryRowsResult, Option<PagingState>)> {
        let page = || async {
            let page = self.session.execute_single_page(statement, values, state.clone()).await;
            let (rows, next) = page.map_err(|error| Fault::execution(what, error))?;
            let rows = rows.into_rows_result().map_err(|error| Fault::answer(what, error))?;
            let next = match next {
                PagingStateResponse::HasMorePages { state } => Some(state),
                PagingStateResponse::NoMorePages => None,
            };
            Ok((rows, next))
        };
        self.retried(page).await
    }

    /// A conditional request of one statement. It is not repeated.
    pub(super) async fn conditional(
        &self,
        what: &str,
        statement: &PreparedStatement,
        values: impl SerializeRow,
    ) -> Result<Verdict, Fault> {
        let answer = self.session.execute_unpaged(statement, values).await;
        let answer = answer.map_err(|error| Fault::execution(what, error))?;
        verdict(answer.into_rows_result().map_err(|error| Fault::answer(what, error))?)
    }

    /// As [`conditional`](Self::conditional), of many statements.
    pub(super) async fn batch(
        &self,
        what: &str,
        batch: &ConditionalBatch<'_>,
    ) -> Result<Verdict, Fault> {
        let answer = self.session.batch(&batch.batch, &batch.values).await;
        let answer = answer.map_err(|error| Fault::execution(what, error))?;
        verdict(answer.into_rows_result().map_err(|error| Fault::answer(what, error))?)
    }

    /// An empty batch.
    pub(super) fn new_batch<'a>(&self) -> ConditionalBatch<'a> {
        // A batch of one partition is atomic without a log.
        let mut batch = Batch::new(BatchType::Unlogged);
        batch.set_execution_profile_handle(Some(self.profile.clone()));
        ConditionalBatch { batch, values: Vec::new() }
    }
}

impl<'a> ConditionalBatch<'a> {
    pub(super) fn add(
        &mut self,
        statement: &PreparedStatement,
        values: impl SerializeRow + Send + Sync + 'a,
    ) {
        self.batch.append_statement(statement.clone());
        self.values.push(Box::new(values));
    }
}

/// The answer to a conditional request: `[applied]`, and if not, the columns of the condition among
/// others, unless there was nothing at all.
#[allow(clippy::needless_pass_by_value, reason = "the rows are owned by nobody else")]
fn verdict(rows: QueryRowsResult) -> Result<Verdict, Fault> {
    let what = "the outcome of a condition";
    let row: Row = rows.first_row().map_err(|error| Fault::answer(what, error))?;
    let value = |name: &str| {
        let (index, _) = rows.column_specs().get_by_name(name)?;
        row.columns.get(index)?.as_ref()
    };
    let number = |name: &str| value(name).and_then(CqlValue::as_bigint);
    match value("[applied]").and_then(CqlValue::as_boolean) {
        Some(true) => Ok(Verdict::Applied),
        Some(false) => {
            Ok(Verdict::Refused(Present { version: number("version"), lease: number("lease") }))
        }
        None => Err(Fault::answer(what, "it does not say whether the condition held")),
    }
}
