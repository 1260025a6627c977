//! The pipeline from the question to the prompt.

use crate::{QueryLog, contents, finding, query, texts, turn};
use ai_services::memory::MemoryId;
use ai_services::message::{ChatMessage, Content, SystemMessage, UserMessage};
use ai_services::rag::{
    ContentAggregator, DefaultRetrievalAugmentor, Query, RetrievalAugmentor, RetrievedContent,
    Route,
};
use ai_services::{ErrorKind, InvocationContext, Result, TurnContext};

#[tokio::test]
async fn question_is_searched_for_unchanged() {
    let log = QueryLog::default();
    let augmentor = DefaultRetrievalAugmentor::from_retriever(log.echo("a"));
    let retrieved = augmentor.retrieve(&turn("  {{What}} is\nit? ")).await.unwrap();
    assert_eq!(log.all(), ["  {{What}} is\nit? "]);
    assert_eq!(texts(&retrieved.contents), ["a:   {{What}} is\nit? "]);
    assert!(retrieved.skipped.is_empty());
}

#[tokio::test]
async fn texts_of_a_message_are_joined() {
    let log = QueryLog::default();
    let message = UserMessage::from_contents([
        Content::from("What is this?"),
        Content::image_url("https://example.org/a.png"),
        Content::from("And where?"),
    ]);
    let augmentor = DefaultRetrievalAugmentor::from_retriever(log.echo("a"));
    augmentor.retrieve(&TurnContext::builder(message).build()).await.unwrap();
    assert_eq!(log.all(), ["What is this?\nAnd where?"]);
}

#[tokio::test]
async fn message_without_text_skips_the_search() {
    let log = QueryLog::default();
    let shared_log = log.clone();
    let augmentor = DefaultRetrievalAugmentor::builder()
        .query_transformer(move |query: Query| {
            shared_log.record("a query to transform");
            async move { Ok(vec![query]) }
        })
        .content_retriever(log.echo("a"))
        .build()
        .unwrap();
    let image = UserMessage::from_contents([Content::image_url("https://example.org/a.png")]);
    for message in [image, UserMessage::new(" \n")] {
        let retrieved = augmentor.retrieve(&TurnContext::builder(message).build()).await.unwrap();
        assert!(retrieved.contents.is_empty() && retrieved.skipped.is_empty());
    }
    assert!(log.all().is_empty());
}

#[tokio::test]
async fn equal_queries_are_searched_for_once() {
    let log = QueryLog::default();
    let augmentor = DefaultRetrievalAugmentor::builder()
        .query_transformer(|query: Query| async move {
            Ok(["b", "a", "b", "a", "A"].map(|text| query.with_text(text)).to_vec())
        })
        .content_retriever(log.echo("x"))
        .build()
        .unwrap();
    let retrieved = augmentor.retrieve(&turn("?")).await.unwrap();
    assert_eq!(log.all(), ["b", "a", "A"]);
    assert_eq!(texts(&retrieved.contents), ["x: b", "x: a", "x: A"]);
}

#[tokio::test]
async fn blank_queries_are_dropped() {
    let log = QueryLog::default();
    let augmentor = DefaultRetrievalAugmentor::builder()
        .query_transformer(|query: Query| async move {
            Ok(["", "a", " \n"].map(|text| query.with_text(text)).to_vec())
        })
        .content_retriever(log.echo("x"))
        .build()
        .unwrap();
    let retrieved = augmentor.retrieve(&turn("?")).await.unwrap();
    assert_eq!((log.all(), texts(&retrieved.contents)), (vec!["a".to_owned()], vec!["x: a"]));
}

/// An aggregator that returns its input as contents.
struct InputAggregator;

#[ai_services::async_trait]
impl ContentAggregator for InputAggregator {
    async fn aggregate(
        &self,
        found: Vec<(Query, Vec<Vec<RetrievedContent>>)>,
    ) -> Result<Vec<RetrievedContent>> {
        let lists = found.iter().map(|(query, lists)| {
            let lists: Vec<_> = lists.iter().map(|list| texts(list)).collect();
            RetrievedContent::from(format!("{} {lists:?}", query.text()))
        });
        Ok(lists.collect())
    }
}

#[tokio::test]
async fn lists_have_the_order_of_queries_and_routes() {
    let augmentor = DefaultRetrievalAugmentor::builder()
        .query_transformer(|query: Query| async move {
            Ok(["q1", "q2", "q3"].map(|text| query.with_text(text)).to_vec())
        })
        .query_router(|query: Query| async move {
            let routes = [finding(&["a", "b"]), finding(&[])].map(Route::new);
            Ok(if query.text() == "q2" { Vec::new() } else { routes.to_vec() })
        })
        .content_aggregator(InputAggregator)
        .build()
        .unwrap();
    let retrieved = augmentor.retrieve(&turn("?")).await.unwrap();
    assert_eq!(
        texts(&retrieved.contents),
        [r#"q1 [["a", "b"], []]"#, "q2 []", r#"q3 [["a", "b"], []]"#]
    );
}

/// Test cases of LangChain4j.
#[tokio::test]
async fn results_are_fused_per_query_then_across_queries() {
    fn found(query: &str, route: usize) -> &'static [&'static str] {
        match (query, route) {
            ("q1", 0) => &["cat", "dog", "hamster"],
            ("q1", _) => &["cat", "parrot"],
            ("q2", 0) => &["dog", "horse"],
            _ => &["cat"],
        }
    }
    let route =
        |number| move |query: Query| async move { Ok(contents(found(query.text(), number))) };
    let augmentor = DefaultRetrievalAugmentor::builder()
        .query_transformer(|query: Query| async move {
            Ok(["q1", "q2"].map(|text| query.with_text(text)).to_vec())
        })
        .content_retriever(route(0))
        .content_retriever(route(1))
        .build()
        .unwrap();
    let retrieved = augmentor.retrieve(&turn("?")).await.unwrap();
    assert_eq!(texts(&retrieved.contents), ["cat", "dog", "parrot", "horse", "hamster"]);
}

#[tokio::test]
async fn contents_beyond_the_limits_are_left_out() {
    let found = ["a", "bbbbb", "cc", "ddd"];
    for (max_contents, max_text_bytes, expected) in [
        (2, 100, vec!["a", "bbbbb"]),
        (4, 5, vec!["a", "cc"]),
        (0, 100, vec![]),
        (4, 11, found.to_vec()),
    ] {
        let augmentor = DefaultRetrievalAugmentor::builder()
            .content_retriever(finding(&found))
            .max_contents(max_contents)
            .max_text_bytes(max_text_bytes)
            .build()
            .unwrap();
        let retrieved = augmentor.retrieve(&turn("?")).await.unwrap();
        assert_eq!(texts(&retrieved.contents), expected);
        assert_eq!(retrieved.left_out, found.len() - expected.len());
    }
}

#[tokio::test]
async fn huge_text_does_not_displace_the_others() {
    let huge = "x".repeat(DefaultRetrievalAugmentor::DEFAULT_MAX_TEXT_BYTES + 1);
    let augmentor = DefaultRetrievalAugmentor::from_retriever(finding(&[&huge, "a"]));
    let retrieved = augmentor.retrieve(&turn("?")).await.unwrap();
    assert_eq!((texts(&retrieved.contents), retrieved.left_out), (vec!["a"], 1));
}

#[tokio::test]
async fn every_stage_gets_the_turn() {
    struct Tenant(&'static str);
    let log = QueryLog::default();
    let logging = |stage: &'static str| {
        let log = log.clone();
        move |query: &Query| {
            let turn = query.turn();
            let tenant = turn.invocation().get::<Tenant>().unwrap().0;
            let (id, system) = (turn.memory_id().unwrap(), turn.system_message().unwrap().text());
            log.record(format!("{stage} {tenant} {id} {system} {}", turn.history().count()));
        }
    };
    let (transforming, routing, retrieving) = (logging("t"), logging("q"), logging("r"));
    let retriever = move |query: Query| {
        retrieving(&query);
        async { Ok(contents(&["found"])) }
    };
    let route = Route::new(retriever);
    let augmentor = DefaultRetrievalAugmentor::builder()
        .query_transformer(move |query: Query| {
            transforming(&query);
            async move { Ok(vec![query]) }
        })
        .query_router(move |query: Query| {
            routing(&query);
            let route = route.clone();
            async move { Ok(vec![route]) }
        })
        .build()
        .unwrap();
    let turn = TurnContext::builder(UserMessage::new("And now?"))
        .system_message(SystemMessage::new("brief"))
        .memory_id(MemoryId::from("klaus"))
        .history([ChatMessage::user("Hi"), ChatMessage::ai("Hello")])
        .invocation(InvocationContext::new().with(Tenant("acme")))
        .build();
    augmentor.retrieve(&turn).await.unwrap();
    assert_eq!(log.all(), ["t acme klaus brief 2", "q acme klaus brief 2", "r acme klaus brief 2"]);
}

#[tokio::test]
async fn errors_of_transformers_and_routers_fail_the_call() {
    let down = || ai_services::Error::new(ErrorKind::Unavailable, "down");
    let augmentor = DefaultRetrievalAugmentor::builder()
        .query_transformer(move |_: Query| async move { Err(down()) })
        .content_retriever(finding(&["a"]))
        .build()
        .unwrap();
    assert_eq!(augmentor.retrieve(&turn("?")).await.unwrap_err().to_string(), "down");
    let augmentor = DefaultRetrievalAugmentor::builder()
        .query_router(move |_: Query| async move { Err(down()) })
        .build()
        .unwrap();
    assert_eq!(augmentor.retrieve(&turn("?")).await.unwrap_err().to_string(), "down");
}

#[test]
fn builder_requires_a_retriever_or_a_router() {
    let error = DefaultRetrievalAugmentor::builder().build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration);
    assert!(error.to_string().contains(".content_retriever(...)"), "{error}");
    let both = DefaultRetrievalAugmentor::builder()
        .query_router(|_: Query| async { Ok(Vec::new()) })
        .content_retriever(finding(&["a"]));
    assert_eq!(both.build().unwrap_err().kind(), ErrorKind::Configuration);
}

#[tokio::test]
async fn stages_can_be_shared() {
    use ai_services::rag::{
        ContentInjector, ContentRetriever, DefaultContentInjector, QueryRouter, QueryTransformer,
    };
    use std::sync::Arc;
    let retriever: Arc<dyn ContentRetriever> = Arc::new(finding(&["a"]));
    assert_eq!(texts(&retriever.retrieve(&query("?")).await.unwrap()), ["a"]);
    let route = Route::new(Arc::clone(&retriever));
    let router: Arc<dyn QueryRouter> = Arc::new(move |_: Query| {
        let route = route.clone();
        async move { Ok(vec![route]) }
    });
    let transformer: Arc<dyn QueryTransformer> =
        Arc::new(|query: Query| async move { Ok(vec![query]) });
    let augmentor = DefaultRetrievalAugmentor::builder()
        .query_transformer(transformer)
        .query_router(router)
        .content_aggregator(Arc::new(InputAggregator) as Arc<dyn ContentAggregator>)
        .content_injector(Arc::new(DefaultContentInjector::new()) as Arc<dyn ContentInjector>)
        .build()
        .unwrap();
    let augmentor: Arc<dyn RetrievalAugmentor> = Arc::new(augmentor);
    let found = augmentor.retrieve(&turn("?")).await.unwrap().contents;
    assert_eq!(texts(&found), [r#"? [["a"]]"#]);
    let message = augmentor.inject(&UserMessage::new("?"), &found).unwrap();
    assert!(message.text().unwrap().ends_with(r#"? [["a"]]"#));
}
