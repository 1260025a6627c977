//! The authenticated caller of a request.

use ai_services_core::InvocationContext;
use ai_services_core::Result;
use ai_services_core::memory::MemoryId;
use std::fmt;
use std::sync::Arc;

/// The authenticated caller of a request: the memory id of its calls, and the application's data for its tools.
///
/// Sessions and sealed request states belong to the memory id: another principal cannot use them.
///
/// # Examples
///
/// ```
/// use ai_services::InvocationContext;
/// use ai_services::mcp::McpPrincipal;
///
/// struct Tenant(&'static str);
///
/// let context = InvocationContext::new().with(Tenant("acme"));
/// let principal = McpPrincipal::new("klaus").with_context(context);
/// assert_eq!(principal.memory_id().as_str(), "klaus");
/// ```
#[derive(Clone, Debug)]
pub struct McpPrincipal {
    memory_id: MemoryId,
    context: InvocationContext,
}

impl McpPrincipal {
    /// Creates a principal from its memory id. An empty id is rejected like a failed authentication.
    #[must_use]
    pub fn new(memory_id: impl Into<MemoryId>) -> Self {
        Self { memory_id: memory_id.into(), context: InvocationContext::new() }
    }

    /// Sets the application's data, which tools read through a `#[context]` parameter.
    #[must_use]
    pub fn with_context(mut self, context: InvocationContext) -> Self {
        self.context = context;
        self
    }

    /// Returns the memory id of the calls of this principal.
    #[must_use]
    pub fn memory_id(&self) -> &MemoryId {
        &self.memory_id
    }

    pub(super) fn context(&self) -> &InvocationContext {
        &self.context
    }
}

type Function = dyn Fn(&http::request::Parts) -> Result<McpPrincipal> + Send + Sync;

/// Determines the principal of an HTTP request.
#[derive(Clone)]
pub(super) struct Authentication(Arc<Function>);

impl Authentication {
    pub(super) fn new(
        authenticate: impl Fn(&http::request::Parts) -> Result<McpPrincipal> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(authenticate))
    }

    /// Returns the principal of a request. `None` if the request is not authenticated.
    pub(super) fn principal(&self, request: &http::request::Parts) -> Option<McpPrincipal> {
        match (self.0)(request) {
            Ok(principal) if !principal.memory_id.as_str().is_empty() => Some(principal),
            Ok(_) => {
                tracing::warn!("rejected a request of a principal with an empty memory id");
                None
            }
            Err(error) => {
                tracing::debug!(%error, "rejected a request without a principal");
                None
            }
        }
    }
}

impl fmt::Debug for Authentication {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Authentication(..)")
    }
}
