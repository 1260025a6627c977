//! The authenticated caller of a request.

use ai_services_core::memory::MemoryId;
use ai_services_core::{InvocationContext, Result};
use futures_util::future::BoxFuture;
use http::request::Parts;
use std::sync::Arc;

/// The authenticated caller of a request: an id, and the application's data for tools and listeners.
///
/// The id is part of the memory id of each turn, unless the server has
/// [another rule](crate::ChatServerBuilder::memory_id). Different callers need different ids.
///
/// # Examples
///
/// ```
/// use ai_services::InvocationContext;
/// use ai_services::serve::Principal;
///
/// struct Tenant(&'static str);
///
/// let principal = Principal::new("ann").with_context(InvocationContext::new().with(Tenant("acme")));
/// assert_eq!(principal.id(), "ann");
/// ```
#[derive(Clone, Debug)]
pub struct Principal {
    id: Arc<str>,
    context: InvocationContext,
}

impl Principal {
    /// Creates a principal. A request of a principal with an empty id is rejected with status 401.
    #[must_use]
    pub fn new(id: impl Into<Arc<str>>) -> Self {
        Self { id: id.into(), context: InvocationContext::new() }
    }

    /// Sets the application's data, for a `#[context]` parameter of a method.
    #[must_use]
    pub fn with_context(mut self, context: InvocationContext) -> Self {
        self.context = context;
        self
    }

    /// Returns the id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the application's data.
    #[must_use]
    pub fn context(&self) -> &InvocationContext {
        &self.context
    }
}

/// Returns the memory id of a conversation of a principal.
pub(crate) type MemoryIdRule = Arc<dyn Fn(&Principal, &str) -> MemoryId + Send + Sync>;

/// Determines the principal of a request.
pub(crate) type Authenticate =
    Arc<dyn Fn(Parts) -> BoxFuture<'static, Result<Principal>> + Send + Sync>;
