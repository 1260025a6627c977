//! Sets of tools.

use super::Tool;
use std::sync::Arc;

/// A set of tools: a value whose `impl` block is marked with `#[tools]`, a [`Tool`],
/// or a list of tools.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no tools",
    label = "not a tool or a set of tools",
    note = "mark an `impl` block of the type with `#[tools]`, and its methods with `#[tool]`",
    note = "a free function marked `#[tool]` is passed as `name::tool()`"
)]
pub trait ToolSet: Send + Sync + 'static {
    /// Returns the tools, in the order in which their specifications are sent to the model.
    fn tools(self: Arc<Self>) -> Vec<Tool>;

    /// Returns the tools with `prefix` in front of each name. Tool names are unique within a service, so that the
    /// builder rejects two sets with a common name.
    ///
    /// # Examples
    ///
    /// ```
    /// use ai_services::tool;
    /// use ai_services::tool::ToolSet;
    ///
    /// /// Searches the archive.
    /// #[tool(read_only)]
    /// fn search(query: &str) -> String {
    ///     format!("nothing about {query}")
    /// }
    ///
    /// let tools = search::tool().with_prefix("archive_");
    /// assert_eq!(tools[0].name(), "archive_search");
    /// ```
    fn with_prefix(self, prefix: &str) -> Vec<Tool>
    where
        Self: Sized,
    {
        let tools = Arc::new(self).tools().into_iter();
        let prefixed = tools.map(|tool| {
            let name = format!("{prefix}{}", tool.name());
            tool.with_name(name)
        });
        prefixed.collect()
    }
}

impl<T: ToolSet> ToolSet for Arc<T> {
    fn tools(self: Arc<Self>) -> Vec<Tool> {
        T::tools(Self::clone(&self))
    }
}

impl ToolSet for Tool {
    fn tools(self: Arc<Self>) -> Vec<Tool> {
        vec![Self::clone(&self)]
    }
}

impl ToolSet for Vec<Tool> {
    fn tools(self: Arc<Self>) -> Vec<Tool> {
        Arc::unwrap_or_clone(self)
    }
}
