//! Methods of the protocol that have no API of their own.

use ai_services_core::{Error, ErrorKind, Result};
use futures_util::future::{BoxFuture, FutureExt};
use rmcp::ErrorData;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

type Function = dyn Fn(Value) -> BoxFuture<'static, Result<Value>> + Send + Sync;

/// Handlers of raw JSON-RPC methods, by method.
#[derive(Clone, Default)]
pub(super) struct RawMethods(BTreeMap<String, Arc<Function>>);

impl RawMethods {
    pub(super) fn add<F, Fut>(&mut self, method: String, handler: F)
    where
        F: Fn(Value) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Value>> + Send + 'static,
    {
        self.0.insert(method, Arc::new(move |params| handler(params).boxed()));
    }

    /// Returns the result of a method. A panic is an internal error.
    pub(super) async fn call(&self, method: &str, params: Value) -> Result<Value, ErrorData> {
        let Some(handler) = self.0.get(method) else {
            let code = rmcp::model::ErrorCode::METHOD_NOT_FOUND;
            return Err(ErrorData::new(code, method.to_owned(), None));
        };
        let running = AssertUnwindSafe(async { handler(params).await });
        match running.catch_unwind().await {
            Ok(outcome) => outcome.map_err(|error| error_data(method, &error)),
            Err(_) => Err(ErrorData::internal_error("internal error", None)),
        }
    }
}

/// Returns the error for the client. Only an [`ErrorKind::InvalidRequest`] has a text: other errors may quote the
/// program's data.
fn error_data(method: &str, error: &Error) -> ErrorData {
    if error.kind() == ErrorKind::InvalidRequest {
        return ErrorData::invalid_params(error.to_string(), None);
    }
    tracing::warn!(method, %error, "a raw method failed");
    ErrorData::internal_error("internal error", None)
}

impl fmt::Debug for RawMethods {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}
