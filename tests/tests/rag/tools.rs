//! Retrieval as a tool.

use crate::{Asked, failing, finding};
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

/// What the model is told after it has called the tool with these arguments.
async fn told(
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
async fn model_is_told_what_was_found_with_numbers_and_metadata() {
    let metadata = Metadata::new().with("source", "fruit.md").with("page", 3);
    let rich = TextSegment::new("Bananas are berries.").with_metadata(metadata);
    let retriever = move |_: Query| {
        let found = vec![RetrievedContent::from(rich.clone()), "They are\ncurved.".into()];
        async { Ok(found) }
    };
    let (told, model) = told(retriever, r#"{"query":"bananas"}"#).await;
    assert_eq!(
        told,
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
async fn model_is_not_told_how_a_store_keeps_its_books() {
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
    let (told, _) = told(retriever, r#"{"query":"bananas"}"#).await;
    assert_eq!(told, "[1] Bananas are berries.\nsource: fruit.md\npage: 3");
}

#[tokio::test]
async fn tool_searches_for_what_the_model_says_in_the_name_of_the_caller() {
    let asked = Asked::default();
    let noted = asked.clone();
    let retriever = move |query: Query| {
        let tenant = query.turn().invocation().get::<Tenant>().unwrap().0;
        noted.note(format!("{tenant}: {}", query.text()));
        async { Ok(Vec::new()) }
    };
    let (told, _) = told(retriever, r#"{"query":"{{berries}} \"or\" 1"}"#).await;
    assert_eq!(asked.all(), [r#"acme: {{berries}} "or" 1"#]);
    assert_eq!(told, "nothing was found");
}

#[tokio::test]
async fn long_contents_do_not_exceed_what_a_tool_may_return() {
    let long = "x".repeat(150_000);
    let (told, _) = told(finding(&[&long, "y", &long, "z"]), r#"{"query":"q"}"#).await;
    assert!(told.starts_with("[1] xxx") && told.contains("x\n\n[2] y\n\n[3] xxx"));
    assert!(told.ends_with("x…\n\n(1 more found, left out because it is too much)"));
}

#[tokio::test]
async fn mistakes_are_told_to_the_model() {
    let (missing, _) = told(finding(&["a"]), "{}").await;
    assert!(missing.contains("query: required, but missing"), "{missing}");
    let (blank, _) = told(finding(&["a"]), r#"{"query":" "}"#).await;
    assert!(blank.contains("the query is empty"), "{blank}");
    let (failed, _) = told(failing(ErrorKind::Unavailable), r#"{"query":"q"}"#).await;
    assert!(failed.contains("Unavailable"), "{failed}");
}
