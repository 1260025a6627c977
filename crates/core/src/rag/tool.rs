//! A content retriever as a tool.

use super::inject::numbered_with_metadata;
use super::metering::meter_discarded_error;
use super::tool_output::join_parts;
use super::{ContentRetriever, Query};
use crate::error::Result;
use crate::invocation::TurnContext;
use crate::message::UserMessage;
use crate::model::ToolSpecification;
use crate::schema::{self, Property, Requirement};
use crate::tool::{IntoToolError, Tool, ToolError, ToolInput, ToolOutput};
use std::sync::Arc;

const ARGUMENT: &str = "query";

/// Creates a tool that queries a retriever.
pub(super) fn of(
    retriever: Arc<dyn ContentRetriever>,
    name: Box<str>,
    description: Box<str>,
) -> Tool {
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
