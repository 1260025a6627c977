//! Content retrievers as tools.

use crate::{QueryLog, failing, finding};
use ai_services::document::{Metadata, TextSegment, key};
use ai_services::message::ToolCall;
use ai_services::rag::{ContentRetriever, Query, RetrievedContent};
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use ai_services::{ErrorKind, InvocationContext, ai_service};
use serde_json::json;

struct Tenant(&'static str);

#[ai_service]
trait Assistant {
    async fn chat(
        &self,
        #[context] context: InvocationContext,
        #[user_message] message: &str,
    ) -> ai_services::Result<String>;
}

/// Returns the tool output that the model receives for a call with these arguments.
async fn call_tool(
    retriever: impl ContentRetriever + 'static,
    arguments: &str,
) -> (String, ScriptedChatModel) {
    let model = ScriptedChatModel::new([
        ScriptedAnswer::tool_calls([ToolCall::new("1", "search_faq", arguments)]),
        ScriptedAnswer::text("Done."),
    ]);
    let tool = retriever.into_tool("search_faq", "Searches frequent questions.");
    let assistant =
        AssistantService::builder().chat_model(model.clone()).tools(tool).build().unwrap();
    let context = InvocationContext::new().with(Tenant("acme"));
    assistant.chat(context, "Are bananas berries?").await.unwrap();
    let messages = model.messages_of(1);
    (messages.last().unwrap().text().unwrap().to_owned(), model)
}

#[tokio::test]
async fn tool_output_has_numbers_and_metadata() {
    let metadata = Metadata::new().with("source", "fruit.md").with("page", 3);
    let rich = TextSegment::new("Bananas are berries.").with_metadata(metadata);
    let retriever = move |_: Query| {
        let found = vec![RetrievedContent::from(rich.clone()), "They are\ncurved.".into()];
        async { Ok(found) }
    };
    let (output, model) = call_tool(retriever, r#"{"query":"bananas"}"#).await;
    assert_eq!(
        output,
        "[1] Bananas are berries.\nsource: fruit.md\npage: 3\n\n[2] They are\ncurved."
    );
    let request = &model.requests()[0];
    let [tool] = request.tools().as_slice() else { panic!("one tool") };
    assert_eq!((&*tool.name, &*tool.description), ("search_faq", "Searches frequent questions."));
    let parameters = tool.parameters.as_ref().unwrap().as_value();
    assert_eq!(parameters["properties"]["query"]["type"], "string");
    assert_eq!(parameters["required"], json!(["query"]));
}

#[tokio::test]
async fn metadata_of_the_store_is_left_out() {
    let metadata = Metadata::new()
        .with(key::SOURCE, "fruit.md")
        .with(key::COLLECTION, "c")
        .with(key::DIGEST, "0123456789abcdef")
        .with(key::SEGMENTS, 12)
        .with(key::PAGE, 3);
    let rich = TextSegment::new("Bananas are berries.").with_metadata(metadata);
    let retriever = move |_: Query| {
        let found = vec![RetrievedContent::from(rich.clone())];
        async { Ok(found) }
    };
    let (output, _) = call_tool(retriever, r#"{"query":"bananas"}"#).await;
    assert_eq!(output, "[1] Bananas are berries.\nsource: fruit.md\npage: 3");
}

#[tokio::test]
async fn tool_searches_in_the_context_of_the_caller() {
    let log = QueryLog::default();
    let shared_log = log.clone();
    let retriever = move |query: Query| {
        let tenant = query.turn().invocation().get::<Tenant>().unwrap().0;
        shared_log.record(format!("{tenant}: {}", query.text()));
        async { Ok(Vec::new()) }
    };
    let (output, _) = call_tool(retriever, r#"{"query":"{{berries}} \"or\" 1"}"#).await;
    assert_eq!(log.all(), [r#"acme: {{berries}} "or" 1"#]);
    assert_eq!(output, "nothing was found");
}

#[tokio::test]
async fn tool_output_is_limited() {
    let long = "x".repeat(150_000);
    let (output, _) = call_tool(finding(&[&long, "y", &long, "z"]), r#"{"query":"q"}"#).await;
    assert!(output.starts_with("[1] xxx") && output.contains("x\n\n[2] y\n\n[3] xxx"));
    assert!(output.ends_with("x…\n\n(1 more found, left out because it is too much)"));
}

#[tokio::test]
async fn errors_are_sent_to_the_model() {
    let (missing, _) = call_tool(finding(&["a"]), "{}").await;
    assert!(missing.contains("query: required, but missing"), "{missing}");
    let (blank, _) = call_tool(finding(&["a"]), r#"{"query":" "}"#).await;
    assert!(blank.contains("the query is empty"), "{blank}");
    let (failed, _) = call_tool(failing(ErrorKind::Unavailable), r#"{"query":"q"}"#).await;
    assert!(failed.contains("Unavailable"), "{failed}");
}
