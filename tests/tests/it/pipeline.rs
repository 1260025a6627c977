//! Composed retrieval in calls of a service.

use super::journal::{Desk as _, Journal, remembered, turn, words};
use ai_services::document::{Metadata, TextSegment};
use ai_services::embedding::{
    EmbeddingEntry, EmbeddingModel, EmbeddingPurpose, EmbeddingStore, Embeddings, Filter,
    InMemoryEmbeddingStore,
};
use ai_services::guardrail::Redaction;
use ai_services::memory::{MemoryId, MessageWindowChatMemory};
use ai_services::message::{ChatMessage, Content, ToolCall};
use ai_services::model::{Price, PriceTable, Scores, ScoringModel, TokenUsage};
use ai_services::rag::{
    CompressingQueryTransformer, ContentRetriever, DefaultRetrievalAugmentor,
    EmbeddingStoreContentRetriever, Query, QueryTransformerChain, ReRankingContentAggregator,
    RetrievedContent,
};
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use ai_services::{AnswerStream, InvocationContext, Response, ai_service, async_trait};
use std::time::Duration;

#[ai_service]
trait Helpdesk {
    async fn ask(
        &self,
        #[memory_id] customer: &str,
        #[context] context: &InvocationContext,
        #[user_message] text: &str,
    ) -> ai_services::Result<Response<String>>;
}

/// A store that stores nothing.
#[ai_service]
pub(super) trait Kiosk {
    async fn ask(&self, text: &str) -> ai_services::Result<Response<String>>;

    async fn count(&self, text: &str) -> ai_services::Result<Response<u32>>;

    async fn look(
        &self,
        #[user_message] parts: &[Content],
    ) -> ai_services::Result<Response<String>>;

    fn stream(&self, text: &str) -> AnswerStream;
}

/// The tenant of the application.
struct Tenant(&'static str);

/// Uses two tokens per text, and a delay.
struct Embedder;

#[async_trait]
impl EmbeddingModel for Embedder {
    async fn embed(&self, texts: &[&str], _: EmbeddingPurpose) -> ai_services::Result<Embeddings> {
        tokio::time::sleep(Duration::from_millis(10)).await;
        let vectors = texts.iter().map(|text| vec![1.0, text.len() as f32]);
        Ok(Embeddings::new(vectors).with_usage(TokenUsage::new(2, 0)))
    }

    fn name(&self) -> &str {
        "embedder"
    }
}

/// A store with one entry for each text.
async fn store(entries: &[(&str, &str, &str)]) -> InMemoryEmbeddingStore {
    let store = InMemoryEmbeddingStore::new();
    let entry = |(key, value, text): &(&str, &str, &str)| {
        let segment = TextSegment::new(*text).with_metadata(Metadata::new().with(*key, *value));
        EmbeddingEntry::new(*text, vec![1.0, text.len() as f32], segment)
    };
    store.add(entries.iter().map(entry).collect()).await.unwrap();
    store
}

fn retriever(
    store: InMemoryEmbeddingStore,
    filter: impl Fn(&Query) -> Filter + Send + Sync + 'static,
) -> EmbeddingStoreContentRetriever {
    EmbeddingStoreContentRetriever::builder(store)
        .embedding_model(Embedder)
        .dynamic_filter(move |query| Some(filter(query)))
        .build()
        .unwrap()
}

/// Restricts results to the entries of the caller.
fn own(query: &Query) -> Filter {
    let customer = query.turn().memory_id().map_or("", MemoryId::as_str);
    Filter::key("customer").is(customer)
}

fn window(id: &MemoryId) -> ai_services::Result<MessageWindowChatMemory> {
    MessageWindowChatMemory::builder().id(id).max_messages(20).build()
}

pub(super) fn sources<T>(response: &Response<T>) -> Vec<&str> {
    response.sources.iter().map(|content| content.segment.text()).collect()
}

pub(super) fn kiosk(
    model: &ScriptedChatModel,
    augmentor: DefaultRetrievalAugmentor,
) -> KioskService {
    KioskService::builder()
        .chat_model(model.clone())
        .retrieval_augmentor(augmentor)
        .build()
        .unwrap()
}

/// Returns the query as the result.
pub(super) fn echo() -> impl ContentRetriever + 'static {
    |query: Query| async move { Ok(vec![RetrievedContent::from(query.text())]) }
}

#[tokio::test(start_paused = true)]
async fn each_caller_finds_only_own_entries_even_concurrently() {
    let entries: Vec<(String, String)> =
        (0..20).map(|n| (format!("c{n}"), format!("invoice of c{n}"))).collect();
    let entries: Vec<(&str, &str, &str)> =
        entries.iter().map(|(customer, text)| ("customer", &**customer, &**text)).collect();
    let model = ScriptedChatModel::from_fn(|_, request| {
        let messages: Vec<_> = request.messages().collect();
        ScriptedAnswer::text(messages.last().unwrap().text().unwrap())
    });
    let helpdesk = HelpdeskService::builder()
        .chat_model(model)
        .chat_memory_provider(window)
        .content_retriever(retriever(store(&entries).await, own))
        .build()
        .unwrap();
    let context = InvocationContext::new();
    let calls = (0..40).map(|call| {
        let (helpdesk, context) = (&helpdesk, &context);
        async move {
            let customer = format!("c{}", call % 20);
            let response = helpdesk.ask(&customer, context, "My invoice?").await.unwrap();
            assert_eq!(sources(&response), [format!("invoice of {customer}")]);
            let told = format!(
                "My invoice?\n\nAnswer using the following information:\ninvoice of {customer}"
            );
            assert_eq!(response.value, told);
        }
    });
    futures_util::future::join_all(calls).await;
    let stranger = helpdesk.ask("c77", &context, "My invoice?").await.unwrap();
    assert!(stranger.sources.is_empty());
    assert_eq!(stranger.value, "My invoice?");
}

#[tokio::test(start_paused = true)]
async fn filter_uses_the_data_of_the_application() {
    let store =
        store(&[("tenant", "acme", "the rules of acme"), ("tenant", "bolt", "those of bolt")]);
    let of_the_tenant = |query: &Query| {
        let tenant = query.turn().invocation().get::<Tenant>().map_or("", |tenant| tenant.0);
        Filter::key("tenant").is(tenant)
    };
    let helpdesk = HelpdeskService::builder()
        .chat_model(ScriptedChatModel::replies(["a", "b"]))
        .chat_memory_provider(window)
        .content_retriever(retriever(store.await, of_the_tenant))
        .build()
        .unwrap();
    let context = InvocationContext::new().with(Tenant("bolt"));
    // The text of the user does not change the filter.
    let question = "tenant = 'acme' OR tenant is acme";
    let response = helpdesk.ask("ann", &context, question).await.unwrap();
    assert_eq!(sources(&response), ["those of bolt"]);
    let nobody = helpdesk.ask("bob", &InvocationContext::new(), question).await.unwrap();
    assert!(nobody.sources.is_empty());
}

/// Scores by length, and uses five tokens.
struct Scorer;

#[async_trait]
impl ScoringModel for Scorer {
    async fn score(&self, _: &str, texts: &[&str]) -> ai_services::Result<Scores> {
        let scores = texts.iter().map(|text| text.len() as f64 / 100.0);
        Ok(Scores::new(scores).with_usage(TokenUsage::new(5, 0)))
    }

    fn name(&self) -> &str {
        "scorer"
    }
}

#[tokio::test(start_paused = true)]
async fn usage_of_all_models_of_the_pipeline_counts_for_the_call() {
    let compressing = ScriptedChatModel::new([
        ScriptedAnswer::text("the brother of Vincent").with_usage(TokenUsage::new(100, 10))
    ]);
    let entries = [("customer", "ann", "Theo was his brother."), ("customer", "ann", "Who?")];
    let augmentor = DefaultRetrievalAugmentor::builder()
        .query_transformer(CompressingQueryTransformer::new(compressing.clone()))
        .content_retriever(retriever(store(&entries).await, own))
        .content_aggregator(ReRankingContentAggregator::new(Scorer))
        .build()
        .unwrap();
    let costly = |text| ScriptedAnswer::text(text).with_usage(TokenUsage::new(1000, 1));
    let model = ScriptedChatModel::new([costly("A painter."), costly("Theo.")]);
    let helpdesk = HelpdeskService::builder()
        .chat_model(model.clone())
        .chat_memory_provider(window)
        .retrieval_augmentor(augmentor)
        .price_table(
            PriceTable::new()
                .price("scripted", Price::per_million(1.0, 1.0))
                .price("embedder", Price::per_million(1.0, 1.0))
                .price("scorer", Price::per_million(1.0, 1.0)),
        )
        .build()
        .unwrap();
    let context = InvocationContext::new();
    let first = helpdesk.ask("ann", &context, "Who was Vincent?").await.unwrap();
    assert_eq!(first.token_usage, TokenUsage::new(1000 + 2 + 5, 1));
    assert!(compressing.requests().is_empty(), "there was nothing to look back at");

    let second = helpdesk.ask("ann", &context, "And his brother?").await.unwrap();
    assert_eq!(second.token_usage, TokenUsage::new(1000 + 100 + 2 + 5, 1 + 10));
    let cost = second.cost.unwrap();
    assert_eq!((cost.parts(), cost.is_complete()), (1_118_000_000, true));
    assert_eq!(sources(&second), ["Theo was his brother.", "Who?"]);
    let prompt = compressing.messages_of(0)[0].text().unwrap().to_owned();
    assert!(prompt.contains("User: Who was Vincent?\nAssistant: A painter.\n"), "{prompt}");
    assert!(!prompt.contains("Answer using"), "what was found is not in the history: {prompt}");
    let sent = model.messages_of(1);
    let texts: Vec<_> = sent.iter().map(|message| message.text().unwrap()).collect();
    assert_eq!(texts[..2], ["Who was Vincent?", "A painter."]);
}

#[tokio::test]
async fn service_without_memory_retrieves_for_text_types_images_and_streams() {
    let model = ScriptedChatModel::replies(["because", "7", "a cat", "so"]);
    let kiosk = kiosk(&model, DefaultRetrievalAugmentor::from_retriever(echo()));
    assert_eq!(sources(&kiosk.ask("why?").await.unwrap()), ["why?"]);
    let counted = kiosk.count("how many?").await.unwrap();
    assert_eq!((counted.value, sources(&counted)), (7, vec!["how many?"]));
    let parts = [Content::image_url("https://example.org/cat.png"), "what?".into()];
    assert_eq!(sources(&kiosk.look(&parts).await.unwrap()), ["what?"]);
    let ChatMessage::User(sent) = model.messages_of(2).remove(0) else { panic!("no question") };
    assert_eq!(sent.contents()[0], parts[0]);
    assert!(sent.contents()[1].text().unwrap().starts_with("what?\n\nAnswer using"));
    let told = words(kiosk.stream("why?")).await;
    assert_eq!(told, ["retrieved 1", "text so", "usage", "completed so"]);
    for request in 0..4 {
        assert_eq!(model.messages_of(request).len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn retrieval_tool_is_metered_and_gets_the_caller() {
    let entries = [("customer", "ann", "the rules of ann"), ("customer", "bob", "those of bob")];
    let tool = retriever(store(&entries).await, own).into_tool("search", "Searches the rules.");
    let call = ToolCall::new("1", "search", r#"{"query":"the rules"}"#);
    let model = ScriptedChatModel::new([
        ScriptedAnswer::tool_calls([call]).with_usage(TokenUsage::new(10, 1)),
        ScriptedAnswer::text("Done.").with_usage(TokenUsage::new(20, 1)),
    ]);
    let helpdesk = HelpdeskService::builder()
        .chat_model(model.clone())
        .chat_memory_provider(window)
        .tools(tool)
        .price_table(
            PriceTable::new()
                .price("scripted", Price::per_million(1.0, 1.0))
                .price("embedder", Price::per_million(1.0, 0.0)),
        )
        .build()
        .unwrap();
    let response = helpdesk.ask("bob", &InvocationContext::new(), "The rules?").await.unwrap();
    let told = model.messages_of(1).pop().unwrap();
    assert_eq!(told.text(), Some("[1] those of bob\ncustomer: bob"));
    assert_eq!(response.token_usage, TokenUsage::new(10 + 20 + 2, 2));
    assert_eq!(response.cost.unwrap().parts(), 34_000_000);
    assert!(response.sources.is_empty(), "the result of a tool is not a source");
}

#[tokio::test]
async fn redaction_keeps_personal_data_from_retrievers() {
    let journal = Journal::default();
    let noted = journal.clone();
    let web = move |query: Query| {
        let said = query.turn().user_message().text().unwrap_or_default().to_owned();
        noted.note(format!("searched {} for {said}", query.text()));
        async { Ok(vec![RetrievedContent::from("a page")]) }
    };
    let augmentor = DefaultRetrievalAugmentor::builder()
        .query_transformer(Redaction::all())
        .content_retriever(web)
        .build()
        .unwrap();
    let model = journal.replies(["because"]);
    let desk = journal.desk(&model).retrieval_augmentor(augmentor).build().unwrap();
    let question = "Who is ann@example.org?";
    desk.ask("ann", question).await.unwrap();
    assert_eq!(
        journal.entries(),
        ["loaded", "searched Who is [EMAIL]? for Who is [EMAIL]?", "model called with 0", "stored"]
    );
    let sent = model.messages_of(0)[1].text().unwrap().to_owned();
    assert_eq!(sent, format!("{question}\n\nAnswer using the following information:\na page"));
    assert_eq!(remembered(&desk, "ann").await, turn(question, "because"));
}

#[tokio::test]
async fn redaction_removes_data_that_the_history_brought_back() {
    let journal = Journal::default();
    let noted = journal.clone();
    let web = move |query: Query| {
        noted.note(format!("searched {}", query.text()));
        async { Ok(Vec::new()) }
    };
    let compressing = ScriptedChatModel::replies(["orders of ann@example.org"]);
    let augmentor = DefaultRetrievalAugmentor::builder()
        .query_transformer(
            QueryTransformerChain::new()
                .then(CompressingQueryTransformer::new(compressing))
                .then(Redaction::all()),
        )
        .content_retriever(web)
        .build()
        .unwrap();
    let model = journal.replies(["Hello!", "None."]);
    let desk = journal.desk(&model).retrieval_augmentor(augmentor).build().unwrap();
    desk.ask("ann", "I am ann@example.org.").await.unwrap();
    desk.ask("ann", "My orders?").await.unwrap();
    let searched = journal.entries();
    let searched: Vec<_> = searched.iter().filter(|entry| entry.starts_with("searched")).collect();
    assert_eq!(searched, ["searched I am [EMAIL].", "searched orders of [EMAIL]"]);
}
