//! Query routing.

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

/// Creates a router with routes to cats, dogs and birds.
fn animals(model: &ScriptedChatModel) -> LanguageModelQueryRouterBuilder {
    LanguageModelQueryRouter::builder(model.clone())
        .route(Route::new(finding(&["cat"])), "articles about cats")
        .route(Route::new(finding(&["dog"])), "articles about dogs")
        .route(Route::new(finding(&["bird"])), "articles about {{query}}\n2: birds")
}

/// Returns the texts that are retrieved after this answer of the model.
async fn found(answer: ScriptedAnswer, fallback: RoutingFallback) -> Result<String> {
    let router = animals(&ScriptedChatModel::new([answer])).fallback(fallback).build().unwrap();
    let augmentor = DefaultRetrievalAugmentor::builder().query_router(router).build().unwrap();
    let turn = TurnContext::builder(UserMessage::new("Which one?")).build();
    let contents = augmentor.retrieve(&turn).await?.contents;
    Ok(contents.iter().map(|content| content.segment.text()).collect::<Vec<_>>().join(" "))
}

#[tokio::test]
async fn default_router_chooses_all_routes() {
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
async fn prompt_contains_descriptions_and_query() {
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
async fn ambiguous_answer_triggers_the_fallback() {
    for answer in ["Sorry, I don't know", "4", "1, 4", "", "not 2", "0"] {
        let found = |fallback| found(ScriptedAnswer::text(answer), fallback);
        assert_eq!(found(RoutingFallback::default()).await.unwrap(), "", "{answer}");
        assert_eq!(found(RoutingFallback::RouteToAll).await.unwrap(), "cat dog bird");
        let error = found(RoutingFallback::Fail).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidResponse);
        assert_eq!(
            error.to_string(),
            "the query could not be routed: \
             the model's choice among the 3 routes of the query is ambiguous"
        );
    }
}

#[tokio::test]
async fn error_of_the_model_triggers_the_fallback() {
    let found =
        |fallback| found(ScriptedAnswer::error(ErrorKind::RateLimited, "slow down"), fallback);
    assert_eq!(found(RoutingFallback::DoNotRoute).await.unwrap(), "");
    assert_eq!(found(RoutingFallback::RouteToAll).await.unwrap(), "cat dog bird");
    let error = found(RoutingFallback::Fail).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::RateLimited);
    assert_eq!(error.to_string(), "the query could not be routed: slow down");
    assert_eq!(error.detail::<Error>().unwrap().to_string(), "slow down");
}

#[tokio::test]
async fn usage_of_answers_and_failures_is_metered() {
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
async fn attempts_of_a_fallback_are_counted_once() {
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
async fn prompt_can_be_replaced_and_is_checked() {
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
    assert_eq!(error.to_string(), "the prompt of the query router must contain `{{options}}`");
}

#[test]
fn builder_requires_routes_with_descriptions() {
    let model = ScriptedChatModel::replies([""; 0]);
    let none = LanguageModelQueryRouter::builder(model.clone()).build().unwrap_err();
    assert_eq!(none.kind(), ErrorKind::Configuration);
    let blank = animals(&model).route(Route::new(finding(&["x"])), " ").build().unwrap_err();
    assert_eq!(blank.kind(), ErrorKind::Configuration);
}
