//! How well passages are found: recall and nDCG of exact, text, hybrid and re-ranked search.
//!
//! `cargo run --release --example retrieval_quality`. The questions are in `examples/retrieval/questions.tsv`,
//! each with the passage that answers it; they are about the documents in `examples/documents`. What is
//! measured depends on the embedding model: the one on this machine only compares words.
#![allow(clippy::print_stdout, reason = "an example shows what it measured")]

#[path = "../src/documents/mod.rs"]
mod documents;
#[path = "../src/documents/metrics.rs"]
mod metrics;
#[path = "../src/documents/rerankers.rs"]
mod rerankers;

use ai_services::TurnContext;
use ai_services::document::{DirectoryLoader, TextSegment, key};
use ai_services::embedding::{EmbeddingModel, EmbeddingStore, VectorSearch};
use ai_services::ingestion::EmbeddingStoreIngestor;
use ai_services::message::UserMessage;
use ai_services::model::ScoringModel;
use ai_services::providers::cohere::RerankModel;
use ai_services::rag::{
    ContentAggregator, ContentRetriever, EmbeddingStoreContentRetriever, Query,
    ReRankingContentAggregator, RetrievedContent, SearchMode,
};
use ai_services::store::sqlite::SqliteEmbeddingStore;
use anyhow::{Context, bail};
use clap::Parser;
use documents::source::{ByKind, FOLDER, embedding_model, with_title};
use metrics::{ndcg_at, recall_at};
use rerankers::{NearestSentence, SharedWords};
use std::collections::BTreeMap;
use std::sync::Arc;

const QUESTIONS: &str = include_str!("../retrieval/questions.tsv");

/// How many passages each kind of search returns, and how many are ranked again.
const DEPTH: usize = 20;

/// Measures how well passages are found
#[derive(Parser)]
struct Args {
    /// An embedding model behind OpenAI's protocol; without, words are hashed
    #[arg(long, value_name = "NAME")]
    embedding_model: Option<String>,

    /// Another server that has the `--embedding-model`; it is sent no key
    #[arg(long, value_name = "URL", requires = "embedding_model")]
    embedding_url: Option<String>,

    /// A server that re-ranks, as llama.cpp's with `--reranking`: the URL to which `/rerank` is appended;
    /// without, the embedding model compares sentences, or if there is none, words are compared
    #[arg(long, value_name = "URL")]
    rerank_url: Option<String>,

    /// How long passages are at most, in characters
    #[arg(long, value_name = "NUMBER", default_value_t = 400)]
    passage: usize,
}

/// A question, and where its answers are.
struct Question {
    text: &'static str,
    /// Whether it has the words of the answer.
    kind: &'static str,
    labels: Vec<Label>,
}

/// Words of a passage, with the spaces put together.
struct Label {
    source: &'static str,
    words: String,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let questions = questions()?;
    let model = embedding_model(args.embedding_model.as_deref(), args.embedding_url.as_deref())?;
    let reranker = reranker(&args, &model)?;
    let store = SqliteEmbeddingStore::in_memory().await?;
    let ingestor = EmbeddingStoreIngestor::builder()
        .store(Arc::new(store.clone()))
        .model(Arc::clone(&model))
        .splitter(ByKind::new(args.passage)?)
        .segment_transformer(with_title)
        .build()?;
    let report = ingestor.ingest(DirectoryLoader::new(FOLDER).documents()).await?;
    check(&questions, &store, &*model).await?;
    println!(
        "{} questions, {} passages of {} documents, embedded by {}, re-ranked by {}\n",
        questions.len(),
        report.totals.stored,
        report.totals.sources_done,
        model.name(),
        reranker.name(),
    );
    let searches = Searches::new(&store, &model, reranker)?;
    let mut measured: BTreeMap<(usize, &str), Vec<[f64; 4]>> = BTreeMap::new();
    for question in &questions {
        let lists = searches.all(question.text).await?;
        for (number, list) in lists.iter().enumerate() {
            let gains = gains(list, &question.labels);
            let wanted = question.labels.len();
            let row = [
                recall_at(&gains, wanted, 1),
                recall_at(&gains, wanted, 3),
                recall_at(&gains, wanted, 5),
                ndcg_at(&gains, wanted, 10),
            ];
            for group in ["all", question.kind] {
                measured.entry((number, group)).or_default().push(row);
            }
        }
    }
    show(&measured);
    Ok(())
}

fn reranker(
    args: &Args,
    model: &Arc<dyn EmbeddingModel>,
) -> ai_services::Result<Arc<dyn ScoringModel>> {
    Ok(match (&args.rerank_url, &args.embedding_model) {
        (Some(url), _) => Arc::new(RerankModel::builder().base_url(url).build()?),
        (None, Some(_)) => Arc::new(NearestSentence::new(Arc::clone(model))),
        (None, None) => Arc::new(SharedWords),
    })
}

/// The kinds of search that are compared.
struct Searches {
    retrievers: [EmbeddingStoreContentRetriever; 3],
    reranking: ReRankingContentAggregator,
}

impl Searches {
    fn new(
        store: &SqliteEmbeddingStore,
        model: &Arc<dyn EmbeddingModel>,
        reranker: Arc<dyn ScoringModel>,
    ) -> ai_services::Result<Self> {
        let retriever = |mode| {
            EmbeddingStoreContentRetriever::builder(store.clone())
                .embedding_model(Arc::clone(model))
                .mode(mode)
                .max_results(DEPTH)
                .build()
        };
        let [vector, text, hybrid] =
            [SearchMode::Vector, SearchMode::Text, SearchMode::Hybrid].map(retriever);
        let reranking = ReRankingContentAggregator::new(reranker);
        Ok(Self { retrievers: [vector?, text?, hybrid?], reranking })
    }

    /// One list of passages for each kind of search; what the last of them found is ranked again.
    async fn all(&self, question: &str) -> ai_services::Result<Vec<Vec<RetrievedContent>>> {
        let turn = TurnContext::builder(UserMessage::new(question)).build();
        let query = Query::new(question, turn);
        let mut lists = Vec::new();
        for retriever in &self.retrievers {
            lists.push(retriever.retrieve(&query).await?);
        }
        let last = lists.last().cloned().unwrap_or_default();
        lists.push(self.reranking.aggregate(vec![(query, vec![last])]).await?);
        Ok(lists)
    }
}

/// How many of the labels each passage has that had not come before.
fn gains(list: &[RetrievedContent], labels: &[Label]) -> Vec<usize> {
    let mut open: Vec<&Label> = labels.iter().collect();
    let gain = |found: &RetrievedContent| {
        let before = open.len();
        open.retain(|label| !label.is_in(&found.segment));
        before - open.len()
    };
    list.iter().map(gain).collect()
}

impl Label {
    fn is_in(&self, segment: &TextSegment) -> bool {
        let source = segment.metadata().get(key::SOURCE).and_then(|source| source.as_text());
        source == Some(self.source) && one_line(segment.text()).contains(&self.words)
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn questions() -> anyhow::Result<Vec<Question>> {
    let lines = QUESTIONS.lines().filter(|line| !line.starts_with('#'));
    let read = |line: &'static str| {
        let mut columns = line.split('\t');
        let (text, kind) = (columns.next()?, columns.next()?);
        let label = |label: &'static str| {
            let (source, words) = label.split_once(": ")?;
            Some(Label { source, words: one_line(words) })
        };
        let labels: Vec<_> = columns.map(label).collect::<Option<_>>()?;
        (!labels.is_empty()).then_some(Question { text, kind, labels })
    };
    lines.map(|line| read(line).with_context(|| format!("`{line}` is no question"))).collect()
}

/// Every label has to be in a passage: else nothing could find it.
async fn check(
    questions: &[Question],
    store: &dyn EmbeddingStore,
    model: &dyn EmbeddingModel,
) -> anyhow::Result<()> {
    // Whatever the vector, all passages are near enough.
    let any = model.embed_query("passage").await?;
    let all = store.search(&VectorSearch::new(&any).max_results(10_000)).await?;
    for question in questions {
        for label in &question.labels {
            if !all.iter().any(|found| label.is_in(&found.segment)) {
                bail!("no passage of `{}` has `{}`", label.source, label.words);
            }
        }
    }
    Ok(())
}

fn show(measured: &BTreeMap<(usize, &str), Vec<[f64; 4]>>) {
    const SEARCHES: [&str; 4] = ["exact (vector)", "words (BM25)", "hybrid (RRF)", "re-ranked"];
    println!(
        "{:16} {:9} {:>9} {:>9} {:>9} {:>9}",
        "search", "questions", "recall@1", "recall@3", "recall@5", "nDCG@10"
    );
    for ((number, group), rows) in measured {
        let mean = |column: usize| {
            rows.iter().filter_map(|row| row.get(column)).sum::<f64>() / rows.len() as f64
        };
        let name = SEARCHES.get(*number).unwrap_or(&"");
        let [one, three, five, ndcg] = [0, 1, 2, 3].map(mean);
        println!("{name:16} {group:9} {one:>9.3} {three:>9.3} {five:>9.3} {ndcg:>9.3}");
    }
}
