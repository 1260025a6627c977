//! Spans and warnings of retrieval: they contain names and counts, but not the texts.

use super::own_process::in_own_process;
use ai_services::message::{ChatMessage, UserMessage};
use ai_services::rag::{
    CompressingQueryTransformer, DefaultRetrievalAugmentor, FailurePolicy,
    LanguageModelQueryRouter, Query, RetrievalAugmentor, RetrievedContent, Route, RoutingFallback,
};
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use ai_services::{Error, ErrorKind, TurnContext};
use ai_services_tests::logs;

fn failing(kind: ErrorKind) -> Route {
    Route::new(move |_: Query| async move {
        Err::<Vec<RetrievedContent>, _>(Error::new(kind, "SECRET error"))
    })
}

#[test]
fn traces_contain_names_and_counts_only() {
    in_own_process(async || {
        logs::start();
        let model = ScriptedChatModel::new([
            ScriptedAnswer::text("SECRET query"),
            ScriptedAnswer::text("SECRET choice"),
        ]);
        let found = |_: Query| async { Ok(vec![RetrievedContent::from("SECRET a"), "b".into()]) };
        let copy = failing(ErrorKind::Timeout).name("copy").on_failure(FailurePolicy::Skip);
        let wiki = failing(ErrorKind::Connection).name("wiki");
        let router = LanguageModelQueryRouter::builder(model.clone())
            .route(Route::new(found).name("docs"), "SECRET description")
            .route(wiki.on_failure(FailurePolicy::fallback(copy)), "another one")
            .fallback(RoutingFallback::RouteToAll)
            .build()
            .unwrap();
        let augmentor = DefaultRetrievalAugmentor::builder()
            .query_transformer(CompressingQueryTransformer::new(model))
            .query_router(router)
            .build()
            .unwrap();
        let turn = TurnContext::builder(UserMessage::new("SECRET question"))
            .history([ChatMessage::user("SECRET history")])
            .build();
        assert_eq!(augmentor.retrieve(&turn).await.unwrap().contents.len(), 2);

        let logged = logs::take();
        for expected in [
            "otel.name=retrieval docs otel.kind=\"client\" gen_ai.operation.name=\"retrieval\" gen_ai.data_source.id=\"docs\"",
            "record ai_services.retrieval.contents=2",
            "otel.name=retrieval wiki ",
            "record error.type=Connection",
            "message=falling back to the next retriever from=\"wiki\" to=\"copy\" kind=Connection",
            "message=skipping a failed retriever retriever=\"copy\" kind=Timeout",
            "message=the model did not route a query; using the fallback kind=InvalidResponse fallback=RouteToAll",
        ] {
            assert!(logged.contains(expected), "{expected}\nis not in the log\n{logged}");
        }
        assert!(!logged.contains("SECRET"), "{logged}");
    });
}
