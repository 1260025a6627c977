//! The client: requests to the cluster, with retries.

use super::error_mapping::{AttemptFailure, Attempts};
use super::settings::CassandraConsistency;
use super::table_names::TableNames;
use ai_services_core::Result;
use ai_services_core::memory::JournalPosition;
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
use tokio::time::timeout;

/// Time limit for creating a table. Every node has to agree.
const SCHEMA_TIMEOUT: Duration = Duration::from_secs(60);

/// A session with the settings of requests.
pub(super) struct Client {
    session: Arc<Session>,
    names: TableNames,
    profile: ExecutionProfileHandle,
    consistency: CassandraConsistency,
    request_timeout: Duration,
}

/// The values of one statement of a batch.
type Values<'a> = Box<dyn SerializeRow + Send + Sync + 'a>;

/// Statements on one partition that are applied atomically if their condition holds.
pub(super) struct ConditionalBatch<'a> {
    batch: Batch,
    values: Vec<Values<'a>>,
}

/// The outcome of a conditional request.
#[derive(Debug)]
pub(super) enum ConditionOutcome {
    Applied,
    /// The condition did not hold.
    Refused(ConditionValues),
}

/// The values that a refused condition has found; `None` for a column that it does not contain, and all `None`
/// if the conversation does not exist.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ConditionValues {
    pub(super) version: Option<i64>,
    pub(super) lease: Option<i64>,
    pub(super) journal: Option<JournalPosition>,
}

/// Creates the execution profile of the store's requests. Does not affect other requests on the same session.
pub(super) fn profile(
    consistency: CassandraConsistency,
    local_datacenter: Option<&str>,
    request_timeout: Duration,
) -> ExecutionProfileHandle {
    let (quorum, serial) = consistency.levels();
    let mut policy = DefaultPolicy::builder().token_aware(true);
    if let Some(name) = local_datacenter {
        // A request for a majority of one data centre must be sent to that data centre.
        let may_leave = consistency == CassandraConsistency::Global;
        policy = policy.prefer_datacenter(name.to_owned()).permit_dc_failover(may_leave);
    }
    ExecutionProfile::builder()
        .consistency(quorum)
        .serial_consistency(Some(serial))
        .request_timeout(Some(request_timeout))
        .load_balancing_policy(policy.build())
        // A repeated transaction can be refused because it was already applied, which only the store detects.
        .retry_policy(Arc::new(FallthroughRetryPolicy::new()))
        .build()
        .into_handle()
}

impl Client {
    pub(super) fn new(
        session: Arc<Session>,
        names: TableNames,
        profile: ExecutionProfileHandle,
        consistency: CassandraConsistency,
        request_timeout: Duration,
    ) -> Self {
        Self { session, names, profile, consistency, request_timeout }
    }

    pub(super) fn names(&self) -> &TableNames {
        &self.names
    }

    pub(super) fn is_local(&self) -> bool {
        self.consistency == CassandraConsistency::Local
    }

    /// Starts the attempts at a request.
    pub(super) fn attempts(&self) -> Attempts {
        Attempts::within(self.request_timeout)
    }

    /// Sends an idempotent request, and retries it until it succeeds or fails for good.
    pub(super) async fn retry<T, F>(&self, mut request: impl FnMut() -> F + Send) -> Result<T>
    where
        F: Future<Output = Result<T, AttemptFailure>> + Send,
    {
        let mut attempts = self.attempts();
        loop {
            match request().await {
                Ok(value) => return Ok(value),
                Err(failure) => attempts.record_failure(failure).await?,
            }
        }
    }

    pub(super) async fn prepare(&self, text: String) -> Result<PreparedStatement> {
        let mut statement = Statement::new(text);
        statement.set_execution_profile_handle(Some(self.profile.clone()));
        self.retry(|| self.prepare_once(statement.clone())).await
    }

    async fn prepare_once(
        &self,
        statement: Statement,
    ) -> Result<PreparedStatement, AttemptFailure> {
        // The driver does not have a time limit for preparing.
        match timeout(self.request_timeout, self.session.prepare(statement)).await {
            Ok(prepared) => prepared.map_err(AttemptFailure::prepare),
            Err(_) => Err(AttemptFailure::prepare_timeout(self.request_timeout)),
        }
    }

    /// Changes the schema.
    pub(super) async fn define(&self, text: String) -> Result<(), AttemptFailure> {
        let mut statement = Statement::new(text);
        statement.set_execution_profile_handle(Some(self.profile.clone()));
        statement.set_request_timeout(Some(SCHEMA_TIMEOUT));
        let done = self.session.query_unpaged(statement, ()).await;
        done.map(drop).map_err(|error| AttemptFailure::execution("change the schema", error))
    }

    /// Waits until all nodes agree on the schema.
    pub(super) async fn await_schema(&self) -> Result<(), AttemptFailure> {
        let agreed = self.session.await_schema_agreement().await;
        agreed
            .map(drop)
            .map_err(|error| AttemptFailure::execution("agree on a schema", error.into()))
    }

    /// Reads one page of a statement's rows, with retries. Returns the state of the next page, too.
    pub(super) async fn page(
        &self,
        action: &str,
        statement: &PreparedStatement,
        values: &(impl SerializeRow + Sync),
        state: PagingState,
    ) -> Result<(QueryRowsResult, Option<PagingState>)> {
        let page = || async {
            let page = self.session.execute_single_page(statement, values, state.clone()).await;
            let (rows, next) = page.map_err(|error| AttemptFailure::execution(action, error))?;
            let rows =
                rows.into_rows_result().map_err(|error| AttemptFailure::answer(action, error))?;
            let next = match next {
                PagingStateResponse::HasMorePages { state } => Some(state),
                PagingStateResponse::NoMorePages => None,
            };
            Ok((rows, next))
        };
        self.retry(page).await
    }

    /// Sends a conditional statement, without retries.
    pub(super) async fn conditional(
        &self,
        action: &str,
        statement: &PreparedStatement,
        values: impl SerializeRow,
    ) -> Result<ConditionOutcome, AttemptFailure> {
        let answer = self.session.execute_unpaged(statement, values).await;
        let answer = answer.map_err(|error| AttemptFailure::execution(action, error))?;
        condition_outcome(
            answer.into_rows_result().map_err(|error| AttemptFailure::answer(action, error))?,
        )
    }

    /// Sends a conditional batch, without retries.
    pub(super) async fn batch(
        &self,
        action: &str,
        batch: &ConditionalBatch<'_>,
    ) -> Result<ConditionOutcome, AttemptFailure> {
        let answer = self.session.batch(&batch.batch, &batch.values).await;
        let answer = answer.map_err(|error| AttemptFailure::execution(action, error))?;
        condition_outcome(
            answer.into_rows_result().map_err(|error| AttemptFailure::answer(action, error))?,
        )
    }

    /// Creates an empty batch.
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

/// Parses the answer to a conditional request: the column `[applied]`, and, if it is false and the row
/// exists, the columns of the condition.
#[allow(clippy::needless_pass_by_value, reason = "the caller does not need the rows any more")]
fn condition_outcome(rows: QueryRowsResult) -> Result<ConditionOutcome, AttemptFailure> {
    let action = "read the outcome of a condition";
    let row: Row = rows.first_row().map_err(|error| AttemptFailure::answer(action, error))?;
    let value = |name: &str| {
        let (index, _) = rows.column_specs().get_by_name(name)?;
        row.columns.get(index)?.as_ref()
    };
    let number = |name: &str| value(name).and_then(CqlValue::as_bigint);
    // A position that cannot be read is not the expected one.
    let journal = || value("journal").and_then(CqlValue::as_text)?.parse().ok();
    match value("[applied]").and_then(CqlValue::as_boolean) {
        Some(true) => Ok(ConditionOutcome::Applied),
        Some(false) => Ok(ConditionOutcome::Refused(ConditionValues {
            version: number("version"),
            lease: number("lease"),
            journal: journal(),
        })),
        None => Err(AttemptFailure::answer(action, "the column `[applied]` is missing")),
    }
}
