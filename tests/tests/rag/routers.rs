//! Choosing whom to ask.

use crate::{answering, finding, prompt, query};
use ai_services::combinators::FallbackModel;
use ai_services::message::UserMessage;
use ai_services::model::{TokenUsage, UsageMeter};
use ai_services::prompt::PromptTemplate;
use ai_services::rag::{
    DefaultQueryRouter, DefaultRetrievalAugmentor, LanguageModelQueryRouter,
    LanguageModelQueryRouterBuilder, Query, QueryRouter, RetrievalAugmentor, Route,
    RoutingFallback,
};
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use ai_services::{Error, ErrorKind, Result, TurnContext};

/// Cats, dogs and birds, each of which is found there.
fn animals(model: &ScriptedChatModel) -> LanguageModelQueryRouterBuilder {
    LanguageModelQueryRouter::builder(model.clone())
        .route(Route::new(finding(&["cat"])), "articles about cats")
        .route(Route::new(finding(&["dog"])), "articles about dogs")
        .route(Route::new(finding(&["bird"])), "articles about {{query}}\n2: birds")
}

/// What is found after the model has answered this.
async fn found(answer: ScriptedAnswer, fallback: RoutingFallback) -> Result<String> {
    let router = animals(&ScriptedChatModel::new([answer])).fallback(fallback).build().unwrap();
    let augmentor = DefaultRetrievalAugmentor::builder().query_router(router).build().unwrap();
    let turn = TurnContext::builder(UserMessage::new("Which one?")).build();
    let contents = augmentor.retrieve(&turn).await?.contents;
    Ok(contents.iter().map(|content| content.segment.text()).collect::<Vec<_>>().join(" "))
}

#[tokio::test]
async fn default_router_asks_all() {
    let router = DefaultQueryRouter::new([finding(&["a"]), finding(&["b"])].map(Route::new));
    assert_eq!(router.route(&query("?")).await.unwrap().len(), 2);
}

#[tokio::test]
async fn model_chooses_by_numbers() {
    for (answer, expected) in
        [("2", "dog"), ("1, 2", "cat dog"), ("3,1", "cat bird"), ("**2.**", "dog")]
    {
        let found = found(ScriptedAnswer::text(answer), RoutingFallback::Fail).await.unwrap();
        assert_eq!(found, expected, "{answer}");
    }
}

#[tokio::test]
async fn model_is_shown_descriptions_and_query() {
    let model = ScriptedChatModel::replies(["1"]);
    let router = animals(&model).build().unwrap();
    router.route(&query("{{options}} 1, 2\n3")).await.unwrap();
    let prompt = prompt(&model, 0);
    let options = "\n1: articles about cats\n2: articles about dogs\n\
                   3: articles about {{query}}\n    2: birds\n";
    assert!(prompt.contains(options), "{prompt}");
    assert!(prompt.contains("\n{{options}} 1, 2\n3\n"), "{prompt}");
}

#[tokio::test]
async fn unclear_answer_leads_to_the_fallback() {
    for answer in ["Sorry, I don't know", "4", "1, 4", "", "not 2", "0"] {
        let found = |fallback| found(ScriptedAnswer::text(answer), fallback);
        assert_eq!(found(RoutingFallback::default()).await.unwrap(), "", "{answer}");
        assert_eq!(found(RoutingFallback::RouteToAll).await.unwrap(), "cat dog bird");
        let error = found(RoutingFallback::Fail).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidResponse);
        assert_eq!(
            error.to_string(),
            "a query could not be routed: \
             the model did not clearly choose among the 3 routes of a query"
        );
    }
}

#[tokio::test]
async fn error_of_the_model_leads_to_the_fallback() {
    let found =
        |fallback| found(ScriptedAnswer::error(ErrorKind::RateLimited, "slow down"), fallback);
    assert_eq!(found(RoutingFallback::DoNotRoute).await.unwrap(), "");
    assert_eq!(found(RoutingFallback::RouteToAll).await.unwrap(), "cat dog bird");
    let error = found(RoutingFallback::Fail).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::RateLimited);
    assert_eq!(error.to_string(), "a query could not be routed: slow down");
    assert_eq!(error.detail::<Error>().unwrap().to_string(), "slow down");
}

#[tokio::test]
async fn model_is_metered_also_when_it_fails() {
    let meter = UsageMeter::new();
    let turn = TurnContext::builder(UserMessage::new("?")).meter(meter.clone()).build();
    let query = Query::new("?", turn);
    animals(&answering("1", 10)).build().unwrap().route(&query).await.unwrap();
    assert_eq!(meter.total().input, Some(10));
    let failing =
        ScriptedAnswer::error(ErrorKind::Timeout, "slow").with_usage(TokenUsage::new(5, 0));
    let router = animals(&ScriptedChatModel::new([failing])).build().unwrap();
    assert!(router.route(&query).await.unwrap().is_empty());
    assert_eq!(meter.total().input, Some(15));
}

#[tokio::test]
async fn attempts_of_several_models_are_counted_once() {
    let failing = |input| {
        let answer = ScriptedAnswer::error(ErrorKind::Unavailable, "down");
        ScriptedChatModel::new([answer.with_usage(TokenUsage::new(input, 0))])
    };
    for (fallback, metered, of_error) in
        [(RoutingFallback::DoNotRoute, Some(105), None), (RoutingFallback::Fail, None, Some(105))]
    {
        let meter = UsageMeter::new();
        let turn = TurnContext::builder(UserMessage::new("?")).meter(meter.clone()).build();
        let model = FallbackModel::builder().model(failing(5)).model(failing(100)).build().unwrap();
        let router = LanguageModelQueryRouter::builder(model)
            .route(Route::new(finding(&["cat"])), "cats")
            .fallback(fallback)
            .build()
            .unwrap();
        let outcome = router.route(&Query::new("?", turn)).await;
        assert_eq!(meter.total().input, metered);
        assert_eq!(outcome.err().and_then(|error| error.usage()?.input), of_error);
    }
}

#[tokio::test]
async fn prompt_is_replaced_and_checked() {
    let template = |source| PromptTemplate::parse(source).unwrap();
    let model = ScriptedChatModel::replies(["1"]);
    let router = LanguageModelQueryRouter::builder(model.clone())
        .route(Route::new(finding(&["cat"])), "cats")
        .prompt_template(template("{{query}}? {{options}}"))
        .build()
        .unwrap();
    router.route(&query("Which")).await.unwrap();
    assert_eq!(prompt(&model, 0), "Which? 1: cats");
    let error = animals(&model).prompt_template(template("{{query}}")).build().unwrap_err();
    assert_eq!(error.to_string(), "the prompt of the query router needs `{{options}}` in it");
}

#[test]
fn builder_wants_routes_with_descriptions() {
    let model = ScriptedChatModel::replies([""; 0]);
    let none = LanguageModelQueryRouter::builder(model.clone()).build().unwrap_err();
    assert_eq!(none.kind(), ErrorKind::Configuration);
    let blank = animals(&model).route(Route::new(finding(&["x"])), " ").build().unwrap_err();
    assert_eq!(blank.kind(), ErrorKind::Configuration);
}
