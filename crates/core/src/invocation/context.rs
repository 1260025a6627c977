//! The application's data that travels with one call.

use std::any::{Any, TypeId, type_name};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// Application data that a call passes to its tools, retrieval and listeners.
///
/// Holds at most one value of each type. Cloning is cheap and shares the values. A service method
/// takes the context as a `#[context]` parameter, and a tool reads it through a `#[context]`
/// parameter of its own. The context is never sent to a model.
///
/// # Examples
///
/// ```
/// use ai_services::InvocationContext;
///
/// struct Tenant(&'static str);
///
/// let context = InvocationContext::new().with(Tenant("acme"));
/// assert_eq!(context.get::<Tenant>().map(|tenant| tenant.0), Some("acme"));
/// assert!(context.get::<String>().is_none());
/// ```
#[derive(Clone, Default)]
#[doc(alias = "InvocationParameters")]
pub struct InvocationContext(Option<Arc<HashMap<TypeId, Entry>>>);

#[derive(Clone)]
struct Entry {
    type_name: &'static str,
    value: Arc<dyn Any + Send + Sync>,
}

impl InvocationContext {
    /// Creates an empty context.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a value and replaces an earlier value of the same type.
    #[must_use]
    pub fn with<T: Send + Sync + 'static>(mut self, value: T) -> Self {
        let entries = Arc::make_mut(self.0.get_or_insert_default());
        let entry = Entry { type_name: type_name::<T>(), value: Arc::new(value) };
        entries.insert(TypeId::of::<T>(), entry);
        self
    }

    /// Removes the value of type `T`.
    #[doc(hidden)]
    #[must_use]
    pub fn without<T: 'static>(mut self) -> Self {
        if let Some(entries) = &mut self.0
            && entries.contains_key(&TypeId::of::<T>())
        {
            Arc::make_mut(entries).remove(&TypeId::of::<T>());
        }
        self
    }

    /// Returns the value of type `T`.
    #[must_use]
    pub fn get<T: Send + Sync + 'static>(&self) -> Option<&T> {
        self.0.as_ref()?.get(&TypeId::of::<T>())?.value.downcast_ref()
    }
}

impl fmt::Debug for InvocationContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entries = self.0.iter().flat_map(|entries| entries.values());
        f.debug_set().entries(entries.map(|entry| entry.type_name)).finish()
    }
}
