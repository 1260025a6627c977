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

use ai_services::async_trait;
use ai_services::document::{DirectoryLoader, TextSegment, key};
use ai_services::embedding::{
    EmbeddingModel, EmbeddingStore, SearchMatch, TextSearch, VectorSearch,
};
use ai_services::ingestion::EmbeddingStoreIngestor;
use ai_services::model::{Scores, ScoringModel};
use ai_services::providers::cohere::RerankModel;
use anyhow::{Context, bail};
use clap::Parser;
use documents::source::{ByKind, FOLDER, embedding_model, with_title};
use documents::store;
use documents::words::words;
use metrics::{ndcg_at, recall_at};
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

const QUESTIONS: &str = include_str!("../retrieval/questions.tsv");

/// How many passages each kind of search returns, and how many are ranked again.
const DEPTH: usize = 20;

/// Measures how well passages are found
#[derive(Parser)]
struct Args {
    /// An embedding model behind OpenAI's protocol; without, a simple one on this machine
    #[arg(long, value_name = "NAME")]
    embedding_model: Option<String>,

    /// Where that is; without, OpenAI
    #[arg(long, value_name = "URL", requires = "embedding_model")]
    base_url: Option<String>,

    /// A server that re-ranks, as llama.cpp does; without, words are compared
    #[arg(long, value_name = "URL")]
    rerank_url: Option<String>,

    /// How long passages are at most, in characters
    #[arg(long, default_value_t = 400)]
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
    let model = embedding_model(args.embedding_model.as_deref(), args.base_url.as_deref())?;
    let reranker: Arc<dyn ScoringModel> = match &args.rerank_url {
        Some(url) => Arc::new(RerankModel::builder().base_url(url).build()?),
        None => Arc::new(SharedWords),
    };
    let store = store::open();
    let ingestor = EmbeddingStoreIngestor::builder()
        .store(Arc::clone(&store))
        .model(Arc::clone(&model))
        .splitter(ByKind::new(args.passage)?)
        .segment_transformer(with_title)
        .build()?;
    let report = ingestor.ingest(DirectoryLoader::new(FOLDER).documents()).await?;
    check(&questions, &*store, &*model).await?;
    println!(
        "{} questions, {} passages of {} documents, embedded by {}\n",
        questions.len(),
        report.totals.stored,
        report.totals.sources_done,
        model.name(),
    );
    let mut measured: BTreeMap<(usize, &str), Vec<[f64; 4]>> = BTreeMap::new();
    for question in &questions {
        let lists = search(question.text, &*store, &*model, &*reranker).await?;
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

/// One list of passages for each kind of search.
async fn search(
    question: &str,
    store: &dyn EmbeddingStore,
    model: &dyn EmbeddingModel,
    reranker: &dyn ScoringModel,
) -> anyhow::Result<[Vec<SearchMatch>; 4]> {
    let vector = model.embed_query(question).await?;
    let exact = store.search(&VectorSearch::new(&vector).max_results(DEPTH)).await?;
    let text = store.search_text(&TextSearch::new(question).max_results(DEPTH)).await?;
    let hybrid = fuse(&[&exact, &text]);
    let passages: Vec<_> = hybrid.iter().take(DEPTH).map(|found| found.segment.text()).collect();
    let scores = reranker.score(question, &passages).await?.scores;
    let mut ranked: Vec<_> = hybrid.iter().cloned().zip(scores).collect();
    ranked.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    let reranked = ranked.into_iter().map(|(found, _)| found).collect();
    Ok([exact, text, hybrid, reranked])
}

/// Reciprocal rank fusion with the usual constant 60 (Cormack and others, 2009).
fn fuse(lists: &[&[SearchMatch]]) -> Vec<SearchMatch> {
    let mut fused: Vec<(f64, &SearchMatch)> = Vec::new();
    for list in lists {
        for (rank, found) in list.iter().enumerate() {
            let score = 1.0 / (61 + rank) as f64;
            match fused.iter_mut().find(|(_, other)| other.id == found.id) {
                Some((sum, _)) => *sum += score,
                None => fused.push((score, found)),
            }
        }
    }
    fused.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    fused.into_iter().map(|(_, found)| found.clone()).collect()
}

/// The share of the question's words that a passage has; of pairs of words too, so that order counts.
/// It stands for a model that reads both.
struct SharedWords;

#[async_trait]
impl ScoringModel for SharedWords {
    async fn score(&self, query: &str, documents: &[&str]) -> ai_services::Result<Scores> {
        let asked = features(query);
        let score = |document: &&str| {
            let own = features(document);
            asked.intersection(&own).count() as f64 / asked.len().max(1) as f64
        };
        Ok(Scores::new(documents.iter().map(score)))
    }
}

fn features(text: &str) -> HashSet<String> {
    let words = words(text);
    let pairs: Vec<_> = words.windows(2).map(|pair| pair.join(" ")).collect();
    words.into_iter().chain(pairs).collect()
}

/// How many of the labels each passage has that had not come before.
fn gains(list: &[SearchMatch], labels: &[Label]) -> Vec<usize> {
    let mut open: Vec<&Label> = labels.iter().collect();
    let gain = |found: &SearchMatch| {
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
    const SEARCHES: [&str; 4] = ["exact (vector)", "text (BM25)", "hybrid (RRF)", "re-ranked"];
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
