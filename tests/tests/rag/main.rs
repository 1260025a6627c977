//! Retrieval: documents, embeddings, ingestion, and each part of the pipeline.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests panic on failure"
)]

mod aggregation;
mod concurrency;
mod documents;
mod embeddings;
mod ingestion;
mod injection;
mod pipeline;
mod policies;
mod routers;
mod stores;
mod tools;
mod transformers;

use ai_services::message::{ChatMessage, UserMessage};
use ai_services::rag::{ContentRetriever, Query, RetrievedContent};
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use ai_services::{Error, ErrorKind, Result, TurnContext};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Creates a turn with this user message and without history.
fn turn(text: &str) -> TurnContext {
    TurnContext::builder(UserMessage::new(text)).build()
}

/// Creates a query with the text of the user message.
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

/// A retriever that returns these texts for every query.
fn finding(texts: &[&str]) -> impl ContentRetriever + Clone + 'static + use<> {
    let found = contents(texts);
    move |_: Query| {
        let found = found.clone();
        async move { Ok(found) }
    }
}

/// A retriever that returns these texts after a delay.
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

/// Log of the queries that retrievers received, in order.
#[derive(Clone, Default)]
struct QueryLog(Arc<Mutex<Vec<String>>>);

impl QueryLog {
    fn record(&self, entry: impl Into<String>) {
        self.0.lock().unwrap().push(entry.into());
    }

    fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    /// A retriever that logs each query and returns its text with a prefix.
    fn echo(&self, name: &'static str) -> impl ContentRetriever + Clone + 'static + use<> {
        let log = self.clone();
        move |query: Query| {
            log.record(query.text());
            async move { Ok(vec![RetrievedContent::from(format!("{name}: {}", query.text()))]) }
        }
    }
}

/// Returns the text of the only message of a request.
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

/// Transforms a question without history.
async fn transformed(
    transformer: &dyn ai_services::rag::QueryTransformer,
    text: &str,
) -> Result<Vec<Query>> {
    transformer.transform(&query(text)).await
}
