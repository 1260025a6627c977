//! From the question to what the model is told.

use crate::{Asked, contents, finding, query, texts, turn};
use ai_services::memory::MemoryId;
use ai_services::message::{ChatMessage, Content, SystemMessage, UserMessage};
use ai_services::rag::{
    ContentAggregator, DefaultRetrievalAugmentor, Query, RetrievalAugmentor, RetrievedContent,
    Route,
};
use ai_services::{ErrorKind, InvocationContext, Result, TurnContext};

#[tokio::test]
async fn question_is_searched_for_as_it_is() {
    let asked = Asked::default();
    let augmentor = DefaultRetrievalAugmentor::of(asked.echo("a"));
    let retrieved = augmentor.retrieve(&turn("  {{What}} is\nit? ")).await.unwrap();
    assert_eq!(asked.all(), ["  {{What}} is\nit? "]);
    assert_eq!(texts(&retrieved.contents), ["a:   {{What}} is\nit? "]);
    assert!(retrieved.skipped.is_empty());
}

#[tokio::test]
async fn texts_of_a_message_are_one_question() {
    let asked = Asked::default();
    let message = UserMessage::from_contents([
        Content::from("What is this?"),
        Content::image_url("https://example.org/a.png"),
        Content::from("And where?"),
    ]);
    let augmentor = DefaultRetrievalAugmentor::of(asked.echo("a"));
    augmentor.retrieve(&TurnContext::builder(message).build()).await.unwrap();
    assert_eq!(asked.all(), ["What is this?\nAnd where?"]);
}

#[tokio::test]
async fn message_without_text_searches_for_nothing() {
    let asked = Asked::default();
    let noted = asked.clone();
    let augmentor = DefaultRetrievalAugmentor::builder()
        .query_transformer(move |query: Query| {
            noted.note("a query to transform");
            async move { Ok(vec![query]) }
        })
        .content_retriever(asked.echo("a"))
        .build()
        .unwrap();
    let image = UserMessage::from_contents([Content::image_url("https://example.org/a.png")]);
    for message in [image, UserMessage::new(" \n")] {
        let retrieved = augmentor.retrieve(&TurnContext::builder(message).build()).await.unwrap();
        assert!(retrieved.contents.is_empty() && retrieved.skipped.is_empty());
    }
    assert!(asked.all().is_empty());
}

#[tokio::test]
async fn equal_queries_are_searched_for_once() {
    let asked = Asked::default();
    let augmentor = DefaultRetrievalAugmentor::builder()
        .query_transformer(|query: Query| async move {
            Ok(["b", "a", "b", "a", "A"].map(|text| query.with_text(text)).to_vec())
        })
        .content_retriever(asked.echo("x"))
        .build()
        .unwrap();
    let retrieved = augmentor.retrieve(&turn("?")).await.unwrap();
    assert_eq!(asked.all(), ["b", "a", "A"]);
    assert_eq!(texts(&retrieved.contents), ["x: b", "x: a", "x: A"]);
}

#[tokio::test]
async fn queries_without_text_are_not_searched_for() {
    let asked = Asked::default();
    let augmentor = DefaultRetrievalAugmentor::builder()
        .query_transformer(|query: Query| async move {
            Ok(["", "a", " \n"].map(|text| query.with_text(text)).to_vec())
        })
        .content_retriever(asked.echo("x"))
        .build()
        .unwrap();
    let retrieved = augmentor.retrieve(&turn("?")).await.unwrap();
    assert_eq!((asked.all(), texts(&retrieved.contents)), (vec!["a".to_owned()], vec!["x: a"]));
}

/// Shows the aggregator's input as contents.
struct Shown;

#[ai_services::async_trait]
impl ContentAggregator for Shown {
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
async fn lists_come_in_the_order_of_queries_and_routes() {
    let augmentor = DefaultRetrievalAugmentor::builder()
        .query_transformer(|query: Query| async move {
            Ok(["q1", "q2", "q3"].map(|text| query.with_text(text)).to_vec())
        })
        .query_router(|query: Query| async move {
            let routes = [finding(&["a", "b"]), finding(&[])].map(Route::new);
            Ok(if query.text() == "q2" { Vec::new() } else { routes.to_vec() })
        })
        .content_aggregator(Shown)
        .build()
        .unwrap();
    let retrieved = augmentor.retrieve(&turn("?")).await.unwrap();
    assert_eq!(
        texts(&retrieved.contents),
        [r#"q1 [["a", "b"], []]"#, "q2 []", r#"q3 [["a", "b"], []]"#]
    );
}

/// The same cases as the reference's own tests.
#[tokio::test]
async fn results_are_fused_for_each_query_and_then_across() {
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
async fn model_is_not_told_more_than_the_limits_allow() {
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
async fn one_huge_text_does_not_hide_the_others() {
    let huge = "x".repeat(DefaultRetrievalAugmentor::DEFAULT_MAX_TEXT_BYTES + 1);
    let augmentor = DefaultRetrievalAugmentor::of(finding(&[&huge, "a"]));
    let retrieved = augmentor.retrieve(&turn("?")).await.unwrap();
    assert_eq!((texts(&retrieved.contents), retrieved.left_out), (vec!["a"], 1));
}

#[tokio::test]
async fn every_part_sees_the_turn() {
    struct Tenant(&'static str);
    let asked = Asked::default();
    let noting = |part: &'static str| {
        let asked = asked.clone();
        move |query: &Query| {
            let turn = query.turn();
            let tenant = turn.invocation().get::<Tenant>().unwrap().0;
            let (id, system) = (turn.memory_id().unwrap(), turn.system_message().unwrap().text());
            asked.note(format!("{part} {tenant} {id} {system} {}", turn.history().count()));
        }
    };
    let (transforming, routing, retrieving) = (noting("t"), noting("q"), noting("r"));
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
    assert_eq!(
        asked.all(),
        ["t acme klaus brief 2", "q acme klaus brief 2", "r acme klaus brief 2"]
    );
}

#[tokio::test]
async fn errors_of_transformers_and_routers_end_the_call() {
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
fn builder_wants_somebody_to_ask() {
    let error = DefaultRetrievalAugmentor::builder().build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration);
    assert!(error.to_string().contains(".content_retriever(...)"), "{error}");
    let both = DefaultRetrievalAugmentor::builder()
        .query_router(|_: Query| async { Ok(Vec::new()) })
        .content_retriever(finding(&["a"]));
    assert_eq!(both.build().unwrap_err().kind(), ErrorKind::Configuration);
}

#[tokio::test]
async fn parts_can_be_shared() {
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
        .content_aggregator(Arc::new(Shown) as Arc<dyn ContentAggregator>)
        .content_injector(Arc::new(DefaultContentInjector::new()) as Arc<dyn ContentInjector>)
        .build()
        .unwrap();
    let augmentor: Arc<dyn RetrievalAugmentor> = Arc::new(augmentor);
    let found = augmentor.retrieve(&turn("?")).await.unwrap().contents;
    assert_eq!(texts(&found), [r#"? [["a"]]"#]);
    let told = augmentor.inject(&UserMessage::new("?"), &found).unwrap();
    assert!(told.text().unwrap().ends_with(r#"? [["a"]]"#));
}
