//! Retrieval as a tool.

use super::inject::numbered;
use super::spending::write_off;
use super::telling::told;
use super::{ContentRetriever, Query};
use crate::error::Result;
use crate::invocation::TurnContext;
use crate::message::UserMessage;
use crate::model::ToolSpecification;
use crate::schema::{self, Property, Requirement};
use crate::tool::{IntoToolError, Tool, ToolError, ToolInput, ToolOutput};
use std::sync::Arc;

const ARGUMENT: &str = "query";

/// A tool that asks a retriever.
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
        return Err(ToolError::new("the query is empty; say what is searched for"));
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
        write_off(&error, query.turn());
        error.into_tool_error()
    })?;
    let parts = found.iter().zip(1..).map(|(content, number)| numbered(content, number));
    Ok(ToolOutput::text(told(parts)))
}
