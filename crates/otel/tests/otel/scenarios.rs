//! The trees of spans of whole calls.

use crate::fixture::{
    Accepting, Agent, Censor, Exported, Moderated, ModeratedService, agent, attribute, export,
    look_up,
};
use ai_services::ErrorKind;
use ai_services::combinators::{
    CachedModel, FallbackModel, InMemoryResponseCache, RetryModel, RetryPolicy, RouterModel,
};
use ai_services::document::{Document, Metadata, key};
use ai_services::embedding::InMemoryEmbeddingStore;
use ai_services::ingestion::EmbeddingStoreIngestor;
use ai_services::message::ToolCall;
use ai_services::model::ChatRequest;
use ai_services::otel::Telemetry;
use ai_services::rag::EmbeddingStoreContentRetriever;
use ai_services::testing::{HashingEmbeddingModel, ScriptedAnswer, ScriptedChatModel};
use futures_util::stream;

fn exported() -> Exported {
    export(Telemetry::builder())
}

fn lines<const N: usize>(tree: &Exported, expected: [&str; N]) {
    assert_eq!(tree.tree(), expected);
}

fn call(text: &str) -> ScriptedAnswer {
    ScriptedAnswer::tool_calls([ToolCall::new("1", "look_up", format!(r#"{{"text":"{text}"}}"#))])
}

fn down() -> ScriptedAnswer {
    ScriptedAnswer::error(ErrorKind::Unavailable, "SECRET reason")
}

#[tokio::test]
async fn plain_answer() {
    let exported = exported();
    let agent = agent!(exported, ScriptedChatModel::replies(["Hello."]));
    agent.chat("ann", "Hi!").await.unwrap();
    lines(
        &exported,
        ["invoke_agent Agent", "  memory.load", "  chat scripted [client]", "  memory.commit"],
    );
}

#[tokio::test]
async fn tools() {
    let exported = exported();
    let model = ScriptedChatModel::new([call("tea"), ScriptedAnswer::text("Tea.")]);
    agent!(exported, model, tools(look_up::tool())).chat("ann", "Hi!").await.unwrap();
    lines(
        &exported,
        [
            "invoke_agent Agent",
            "  memory.load",
            "  chat scripted [client]",
            "  execute_tool look_up",
            "  chat scripted [client]",
            "  memory.commit",
        ],
    );
}

#[tokio::test]
async fn tool_that_fails() {
    let exported = exported();
    let model = ScriptedChatModel::new([call("fail"), ScriptedAnswer::text("Sorry.")]);
    agent!(exported, model, tools(look_up::tool())).chat("ann", "Hi!").await.unwrap();
    assert!(
        exported.tree().contains(&"  execute_tool look_up !Tool".to_owned()),
        "{:?}",
        exported.tree()
    );
}

#[tokio::test]
async fn request_that_fails() {
    let exported = exported();
    agent!(exported, ScriptedChatModel::new([down()])).chat("ann", "Hi!").await.unwrap_err();
    lines(
        &exported,
        [
            "invoke_agent Agent !Unavailable",
            "  memory.load",
            "  chat scripted [client] !Unavailable",
        ],
    );
    let spans = exported.spans();
    let events: Vec<_> = spans[2].events.iter().map(|event| &*event.name).collect();
    assert_eq!(events, ["gen_ai.client.operation.exception"]);
}

#[tokio::test]
async fn stream() {
    let exported = exported();
    let agent =
        agent!(exported, ScriptedChatModel::new([ScriptedAnswer::text("Hello you.").chunked(2)]));
    agent.stream("ann", "Hi!").collect().await.unwrap();
    lines(
        &exported,
        ["invoke_agent Agent", "  memory.load", "  chat scripted [client]", "  memory.commit"],
    );
    let spans = exported.spans();
    assert_eq!(attribute(&spans[2], "gen_ai.request.stream").as_deref(), Some("true"));
    assert!(attribute(&spans[2], "gen_ai.response.time_to_first_chunk").is_some());
    assert_eq!(attribute(&spans[2], "ai_services.response.chunks").as_deref(), Some("5"));
}

#[tokio::test]
async fn dropped_stream() {
    let exported = exported();
    let long = ScriptedAnswer::text("Hello. ".repeat(1_000)).chunked(2);
    let agent = agent!(exported, ScriptedChatModel::new([long]));
    let mut stream = agent.stream("ann", "Hi!");
    stream.next().await.unwrap().unwrap();
    drop(stream);
    lines(
        &exported,
        ["invoke_agent Agent !cancelled", "  memory.load", "  chat scripted [client] !cancelled"],
    );
}

#[tokio::test]
async fn fallback() {
    let exported = exported();
    let model = FallbackModel::builder()
        .model(ScriptedChatModel::new([down()]))
        .model(ScriptedChatModel::replies(["Hello."]))
        .build();
    agent!(exported, model.unwrap()).chat("ann", "Hi!").await.unwrap();
    lines(
        &exported,
        [
            "invoke_agent Agent",
            "  memory.load",
            "  chat scripted [client]",
            "    chat scripted [client] !Unavailable",
            "    chat scripted [client]",
            "  memory.commit",
        ],
    );
}

#[tokio::test]
async fn streamed_fallback() {
    let exported = exported();
    let model = FallbackModel::builder()
        .model(ScriptedChatModel::new([down()]))
        .model(ScriptedChatModel::replies(["Hello."]))
        .build();
    let agent = agent!(exported, model.unwrap());
    agent.stream("ann", "Hi!").collect().await.unwrap();
    assert_eq!(
        exported.tree()[2..5],
        [
            "  chat scripted [client]",
            "    chat scripted [client] !Unavailable",
            "    chat scripted [client]",
        ]
    );
}

#[tokio::test]
async fn router() {
    let exported = exported();
    let model = RouterModel::builder()
        .model("small", ScriptedChatModel::replies(["Hello."]))
        .route(|_: &ChatRequest| "small")
        .build();
    agent!(exported, model.unwrap()).chat("ann", "Hi!").await.unwrap();
    assert_eq!(exported.tree()[2..4], ["  chat router [client]", "    chat scripted [client]"]);
}

#[tokio::test(start_paused = true)]
async fn retry() {
    let exported = exported();
    let script = ScriptedChatModel::new([down(), ScriptedAnswer::text("Hello.")]);
    let model = RetryModel::new(script, RetryPolicy::new());
    agent!(exported, model).chat("ann", "Hi!").await.unwrap();
    assert_eq!(exported.tree()[2], "  chat scripted [client]");
    let spans = exported.spans();
    let events: Vec<_> = spans[2].events.iter().map(|event| &*event.name).collect();
    assert_eq!(events, ["retrying the request"]);
    assert_eq!(attribute(&spans[2], "ai_services.response.attempts").as_deref(), Some("2"));
}

#[tokio::test]
async fn cached_answer_has_no_usage() {
    let exported = exported();
    let script = ScriptedChatModel::new([ScriptedAnswer::text("Hello.")]);
    let model = CachedModel::new(script, InMemoryResponseCache::new());
    let agent = agent!(exported, model);
    agent.chat("ann", "Hi!").await.unwrap();
    agent.chat("bob", "Hi!").await.unwrap();
    let spans = exported.spans();
    let chats: Vec<_> = spans.iter().filter(|span| span.name == "chat scripted").collect();
    let origin = |index: usize| attribute(chats[index], "ai_services.response.origin");
    assert_eq!((origin(0), origin(1).as_deref()), (None, Some("cache")));
    assert_eq!(attribute(chats[1], "gen_ai.usage.input_tokens"), None);
}

#[tokio::test]
async fn ingestion_and_retrieval() {
    let exported = exported();
    let store = InMemoryEmbeddingStore::new();
    let ingestor = EmbeddingStoreIngestor::builder()
        .store(store.clone())
        .model(HashingEmbeddingModel::new())
        .build()
        .unwrap();
    let source = Metadata::new().with(key::SOURCE, "tea.txt");
    let documents = stream::iter([Ok(Document::new("SECRET tea", source))]);
    ingestor.ingest(documents).await.unwrap();
    let retriever = EmbeddingStoreContentRetriever::builder(store)
        .embedding_model(HashingEmbeddingModel::new())
        .build()
        .unwrap();
    let model = ScriptedChatModel::replies(["Hello."]);
    agent!(exported, model, content_retriever(retriever)).chat("ann", "tea").await.unwrap();
    lines(
        &exported,
        [
            "embeddings hashing-1 [client]",
            "invoke_agent Agent",
            "  memory.load",
            "  retrieve",
            "    retrieval retriever [client]",
            "      embeddings hashing-1 [client]",
            "  chat scripted [client]",
            "  memory.commit",
        ],
    );
}

#[tokio::test]
async fn rejected_message() {
    let exported = exported();
    let model = ScriptedChatModel::replies(["Hello."]);
    let agent = agent!(exported, model, input_guardrail(Censor), output_guardrail(Censor));
    agent.chat("ann", "forbidden").await.unwrap_err();
    lines(&exported, ["invoke_agent Agent !Guardrail", "  memory.load", "  guardrail censor"]);
    agent.chat("ann", "allowed").await.unwrap();
    assert!(exported.tree().contains(&"  guardrail reader".to_owned()));
}

#[tokio::test]
async fn moderation_is_not_a_generation() {
    let exported = exported();
    let agent = ModeratedService::builder()
        .chat_model(ScriptedChatModel::replies(["Hello."]))
        .moderation_model(Accepting)
        .listener(exported.telemetry.listener())
        .build()
        .unwrap();
    agent.chat("Hi!").await.unwrap();
    let spans = exported.spans();
    let moderation = spans.iter().find(|span| span.name == "moderation judge").unwrap();
    assert_eq!(attribute(moderation, "gen_ai.request.model"), None);
    assert_eq!(attribute(moderation, "ai_services.moderation.model").as_deref(), Some("judge"));
}

#[tokio::test]
async fn repaired_answer() {
    let exported = exported();
    let agent = agent!(exported, ScriptedChatModel::replies(["many", "3"]));
    agent.count("ann", "How many?").await.unwrap();
    lines(
        &exported,
        [
            "invoke_agent Agent",
            "  memory.load",
            "  chat scripted [client]",
            "  chat scripted [client]",
            "  memory.commit",
        ],
    );
    let spans = exported.spans();
    assert_eq!(attribute(&spans[0], "gen_ai.output.type").as_deref(), Some("json"));
}
