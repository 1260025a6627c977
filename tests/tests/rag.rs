//! Retrieval: the pipeline and each of its parts.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that fails panics"
)]

#[path = "rag/aggregation.rs"]
mod aggregation;
#[path = "rag/concurrency.rs"]
mod concurrency;
#[path = "rag/injection.rs"]
mod injection;
#[path = "rag/pipeline.rs"]
mod pipeline;
#[path = "rag/policies.rs"]
mod policies;
#[path = "rag/routers.rs"]
mod routers;
#[path = "rag/stores.rs"]
mod stores;
#[path = "rag/tools.rs"]
mod tools;
#[path = "rag/transformers.rs"]
mod transformers;

use ai_services::message::{ChatMessage, UserMessage};
use ai_services::rag::{ContentRetriever, Query, RetrievedContent};
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use ai_services::{Error, ErrorKind, Result, TurnContext};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A turn in which the user says this, first of all.
fn turn(text: &str) -> TurnContext {
    TurnContext::builder(UserMessage::new(text)).build()
}

/// What the user says is searched for.
fn query(text: &str) -> Query {
    Query::new(text, turn(text))
}

fn texts(contents: &[RetrievedContent]) -> Vec<&str> {
    contents.iter().map(|content| content.segment.text()).collect()
}

fn texts_of(queries: &[Query]) -> Vec<&str> {
    queries.iter().map(Query::text).collect()
}

fn contents(texts: &[&str]) -> Vec<RetrievedContent> {
    texts.iter().copied().map(RetrievedContent::from).collect()
}

/// Finds these texts, whatever is searched for.
fn finding(texts: &[&str]) -> impl ContentRetriever + Clone + 'static + use<> {
    let found = contents(texts);
    move |_: Query| {
        let found = found.clone();
        async move { Ok(found) }
    }
}

/// Finds these texts after a time.
fn finding_after(seconds: u64, texts: &[&str]) -> impl ContentRetriever + Clone + 'static + use<> {
    let found = contents(texts);
    move |_: Query| {
        let found = found.clone();
        async move {
            tokio::time::sleep(Duration::from_secs(seconds)).await;
            Ok(found)
        }
    }
}

fn failing(kind: ErrorKind) -> impl ContentRetriever + Clone + 'static {
    move |_: Query| async move { Err::<Vec<RetrievedContent>, _>(Error::new(kind, format!("{kind:?}"))) }
}

/// What retrievers were asked, in order.
#[derive(Clone, Default)]
struct Asked(Arc<Mutex<Vec<String>>>);

impl Asked {
    fn note(&self, what: impl Into<String>) {
        self.0.lock().unwrap().push(what.into());
    }

    fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    /// Finds what it is asked, under a name.
    fn echo(&self, name: &'static str) -> impl ContentRetriever + Clone + 'static + use<> {
        let asked = self.clone();
        move |query: Query| {
            asked.note(query.text());
            async move { Ok(vec![RetrievedContent::from(format!("{name}: {}", query.text()))]) }
        }
    }
}

/// The text of the only message of a request.
fn prompt(model: &ScriptedChatModel, request: usize) -> String {
    let messages = model.messages_of(request);
    let [ChatMessage::User(message)] = messages.as_slice() else {
        panic!("not one user message: {messages:?}");
    };
    message.text().unwrap().to_owned()
}

fn answering(text: &str, input_tokens: u64) -> ScriptedChatModel {
    let usage = ai_services::model::TokenUsage::new(input_tokens, 1);
    ScriptedChatModel::new([ScriptedAnswer::text(text).with_usage(usage)])
}

/// Transforms a question without a history.
async fn transformed(
    transformer: &dyn ai_services::rag::QueryTransformer,
    text: &str,
) -> Result<Vec<Query>> {
    transformer.transform(&query(text)).await
}
