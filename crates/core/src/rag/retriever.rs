//! Retrievers, and their conversion into tools.

use super::inject::numbered_with_metadata;
use super::metering::meter_discarded_error;
use super::tool_output::join_parts;
use super::{Query, RetrievedContent};
use crate::error::Result;
use crate::forward::forward_through_arc;
use crate::invocation::TurnContext;
use crate::message::UserMessage;
use crate::model::ToolSpecification;
use crate::schema::{self, Property, Requirement};
use crate::tool::{IntoToolError, Tool, ToolError, ToolInput, ToolOutput};
use async_trait::async_trait;
use std::sync::Arc;

/// Name of the tool's only argument.
const ARGUMENT: &str = "query";

/// Retrieves texts for a query.
///
/// A closure that takes a [`Query`] and returns a future implements this trait.
///
/// Implementations carry `#[ai_services::async_trait]`. Without it, the compiler reports that "lifetime
/// parameters or bounds on method … do not match the trait declaration".
///
/// # Cancellation
///
/// Dropping the future of [`retrieve`](Self::retrieve) ends the search. The future is dropped at its timeout,
/// and when the call is dropped or fails.
///
/// # Examples
///
/// ```
/// use ai_services::message::UserMessage;
/// use ai_services::rag::{ContentRetriever, Query, RetrievedContent};
/// use ai_services::TurnContext;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> ai_services::Result<()> {
/// let retriever = |query: Query| async move {
///     let found = query.text().contains("banana").then_some("Bananas are berries.");
///     Ok(found.into_iter().map(RetrievedContent::from).collect())
/// };
/// let turn = TurnContext::builder(UserMessage::new("Tell me about bananas.")).build();
/// let found = retriever.retrieve(&Query::new("bananas", turn)).await?;
/// assert_eq!(found, [RetrievedContent::from("Bananas are berries.")]);
/// # Ok(())
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot retrieve contents",
    label = "not a content retriever",
    note = "implement `ContentRetriever`, or use a closure such as `|query: Query| async move {{ Ok(search(query.text()).await) }}`"
)]
#[async_trait]
pub trait ContentRetriever: Send + Sync {
    /// Returns the texts that fit the query, best first.
    ///
    /// # Errors
    ///
    /// Return an error if the search fails. The [`FailurePolicy`](super::FailurePolicy) of the route then
    /// applies.
    async fn retrieve(&self, query: &Query) -> Result<Vec<RetrievedContent>>;

    /// Converts the retriever into a tool, for a model that decides itself when to search.
    ///
    /// The tool has one argument, `query`. The output contains the contents, numbered and with their
    /// metadata, at most 192 KiB, or states that there are none. Metadata keys that are only for the store
    /// are left out: [`COLLECTION`](crate::document::key::COLLECTION),
    /// [`DIGEST`](crate::document::key::DIGEST) and [`SEGMENTS`](crate::document::key::SEGMENTS). The turn of
    /// the query has the invocation's memory id and the application's data. Its user message is the query
    /// itself, and its history is empty.
    ///
    /// # Examples
    ///
    /// ```
    /// use ai_services::rag::{ContentRetriever, Query, RetrievedContent};
    ///
    /// let retriever = |_query: Query| async { Ok(vec![RetrievedContent::from("Open 9 to 5.")]) };
    /// let tool = retriever.into_tool("search_faq", "Searches answers to frequent questions.");
    /// assert_eq!(tool.name(), "search_faq"); // for `.tools(tool)`
    /// ```
    fn into_tool(self, name: impl Into<Box<str>>, description: impl Into<Box<str>>) -> Tool
    where
        Self: Sized + 'static,
    {
        tool_of(Arc::new(self), name.into(), description.into())
    }
}

#[async_trait]
impl<F, Fut> ContentRetriever for F
where
    F: Fn(Query) -> Fut + Send + Sync,
    Fut: Future<Output = Result<Vec<RetrievedContent>>> + Send + 'static,
{
    async fn retrieve(&self, query: &Query) -> Result<Vec<RetrievedContent>> {
        self(query.clone()).await
    }
}

forward_through_arc! {
    ContentRetriever {
        async fn retrieve<'a, 'b>(&'a self, query: &'b Query) -> Result<Vec<RetrievedContent>>;
    }
}

/// Creates a tool that queries a retriever.
fn tool_of(retriever: Arc<dyn ContentRetriever>, name: Box<str>, description: Box<str>) -> Tool {
    let query = Property {
        name: ARGUMENT,
        description: Some("What is searched for, in a few words."),
        schema: |generator| generator.subschema_for::<String>(),
        requirement: Requirement::Required,
    };
    let specification =
        ToolSpecification::new(name, description).with_parameters(schema::object(vec![query]));
    Tool::from_fn(specification, move |input| {
        let retriever = Arc::clone(&retriever);
        async move { search(&*retriever, &input).await }
    })
}

async fn search(
    retriever: &dyn ContentRetriever,
    input: &ToolInput,
) -> Result<ToolOutput, ToolError> {
    let text: String = input.arguments()?.take(ARGUMENT)?;
    if text.trim().is_empty() {
        return Err(ToolError::new("the query is empty; pass the text to search for"));
    }
    let turn = TurnContext::builder(UserMessage::new(text.as_str()))
        .invocation(input.context().clone())
        .meter(input.meter().clone());
    let turn = match input.memory_id() {
        Some(id) => turn.memory_id(id.clone()),
        None => turn,
    };
    let query = Query::new(text, turn.build());
    let found = retriever.retrieve(&query).await.map_err(|error| {
        meter_discarded_error(&error, query.turn());
        error.into_tool_error()
    })?;
    let parts =
        found.iter().zip(1..).map(|(content, number)| numbered_with_metadata(content, number));
    Ok(ToolOutput::text(join_parts(parts)))
}
