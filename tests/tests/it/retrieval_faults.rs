//! Retrieval that fails, times out or is cancelled in calls of a service.

use super::journal::{Desk as _, Journal, remembered, words};
use super::pipeline::{Kiosk as _, KioskService, echo, kiosk, sources};
use ai_services::event::{Call, Event};
use ai_services::message::{ChatMessage, ToolCall};
use ai_services::model::TokenUsage;
use ai_services::rag::{
    ContentRetriever, DefaultRetrievalAugmentor, FailurePolicy, Query, RetrievedContent, Route,
};
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use ai_services::{Error, ErrorKind};
use ai_services_tests::retrievers::Endless;
use futures_util::FutureExt;
use std::time::Duration;

/// Fails after it has used 4 tokens.
fn down() -> impl ContentRetriever + 'static {
    |_: Query| async {
        let error = Error::new(ErrorKind::Unavailable, "down");
        Err::<Vec<RetrievedContent>, _>(error.with_usage(TokenUsage::new(4, 0)))
    }
}

fn broken() -> Route {
    Route::new(down()).name("wiki")
}

#[tokio::test]
async fn skipped_failure_is_reported_and_counted() {
    let copy = Route::new(echo()).name("copy");
    let replaced = (FailurePolicy::fallback(copy), vec!["own", "why?"], "skipped []");
    let skipped = (FailurePolicy::Skip, vec!["own"], "skipped [\"wiki\"]");
    for (policy, found, told) in [skipped, replaced] {
        let journal = Journal::default();
        let notes = journal.clone();
        let augmentor = DefaultRetrievalAugmentor::builder()
            .content_retriever(|_: Query| async { Ok(vec![RetrievedContent::from("own")]) })
            .content_retriever(broken().on_failure(policy))
            .build()
            .unwrap();
        let kiosk = KioskService::builder()
            .chat_model(journal.replies(["because"]))
            .retrieval_augmentor(augmentor)
            .listener(move |_: &Call<'_>, event: &Event<'_>| {
                if let Event::Retrieved { skipped, .. } = event {
                    let routes: Vec<&str> = skipped.iter().map(|one| &*one.route).collect();
                    notes.note(format!("skipped {routes:?}"));
                }
            })
            .build()
            .unwrap();
        let response = kiosk.ask("why?").await.unwrap();
        assert_eq!(sources(&response), found);
        assert_eq!(response.token_usage, TokenUsage::new(4, 0));
        assert_eq!(journal.entries(), [told, "model called with 0"]);
    }
}

#[tokio::test]
async fn failure_without_skip_fails_call_and_stream() {
    let model = ScriptedChatModel::replies([""; 0]);
    let augmentor = DefaultRetrievalAugmentor::builder()
        .content_retriever(echo())
        .content_retriever(broken())
        .build()
        .unwrap();
    let kiosk = kiosk(&model, augmentor);
    let error = kiosk.ask("why?").await.unwrap_err();
    assert_eq!(error.to_string(), "the retriever `wiki` failed: down");
    assert_eq!(
        (error.kind(), error.usage()),
        (ErrorKind::Unavailable, Some(&TokenUsage::new(4, 0)))
    );
    assert_eq!(words(kiosk.stream("why?")).await, ["error Unavailable"]);
    assert!(model.requests().is_empty());
}

#[tokio::test]
async fn retriever_of_the_builder_has_a_failure_policy() {
    let model = ScriptedChatModel::replies(["because"]);
    let kiosk = KioskService::builder()
        .chat_model(model.clone())
        .content_retriever(broken().on_failure(FailurePolicy::Skip))
        .build()
        .unwrap();
    assert_eq!(kiosk.ask("why?").await.unwrap().value, "because");
    let kiosk =
        KioskService::builder().chat_model(model).content_retriever(broken()).build().unwrap();
    assert_eq!(kiosk.ask("why?").await.unwrap_err().kind(), ErrorKind::Unavailable);
}

#[tokio::test(start_paused = true)]
async fn slow_retriever_times_out() {
    let endless = Endless::default();
    let route = Route::new(endless.clone()).timeout(Duration::from_secs(3));
    let augmentor = DefaultRetrievalAugmentor::builder()
        .content_retriever(echo())
        .content_retriever(route.on_failure(FailurePolicy::Skip))
        .build()
        .unwrap();
    let started = tokio::time::Instant::now();
    let kiosk = kiosk(&ScriptedChatModel::replies(["because"]), augmentor);
    assert_eq!(sources(&kiosk.ask("why?").await.unwrap()), ["why?"]);
    assert_eq!(started.elapsed(), Duration::from_secs(3));
    assert_eq!(endless.counts(), (1, 1), "started and dropped");
}

#[tokio::test]
async fn call_dropped_during_retrieval_cancels_the_search_and_stores_nothing() {
    let (journal, endless) = (Journal::default(), Endless::default());
    let notes = journal.clone();
    let model = journal.replies(["never"]);
    let desk = journal
        .desk(&model)
        .content_retriever(endless.clone())
        .listener(move |_: &Call<'_>, event: &Event<'_>| {
            if let Event::Cancelled = event {
                notes.note("cancelled");
            }
        })
        .build()
        .unwrap();
    assert!(desk.ask("ann", "why?").now_or_never().is_none());
    assert_eq!(endless.counts(), (1, 1));
    let mut stream = desk.stream("ann", "why?");
    assert!(stream.next().now_or_never().is_none());
    assert_eq!(endless.counts(), (2, 1), "the stream is still there");
    drop(stream);
    assert_eq!(endless.counts(), (2, 2));
    assert_eq!(journal.entries(), ["loaded", "cancelled", "loaded", "cancelled"]);
    assert!(remembered(&desk, "ann").await.is_empty());
    assert!(model.requests().is_empty());
}

#[tokio::test]
async fn failed_retrieval_tool_is_counted_and_reported_to_the_model() {
    let call = ToolCall::new("1", "search", r#"{"query":"the rules"}"#);
    let model = ScriptedChatModel::new([
        ScriptedAnswer::tool_calls([call]),
        ScriptedAnswer::text("Nobody knows."),
    ]);
    let kiosk = KioskService::builder()
        .chat_model(model.clone())
        .tools(down().into_tool("search", "Searches the rules."))
        .build()
        .unwrap();
    let response = kiosk.ask("The rules?").await.unwrap();
    assert_eq!(response.value, "Nobody knows.");
    assert_eq!(response.token_usage, TokenUsage::new(4, 0));
    let ChatMessage::ToolResult(result) = model.messages_of(1).pop().unwrap() else {
        panic!("no result")
    };
    assert!(result.is_error() && result.text().unwrap().contains("down"), "{result:?}");
}
