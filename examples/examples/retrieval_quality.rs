//! Measures retrieval: recall and nDCG of search by vector, by words, by both, and with re-ranking.
//!
//! ```sh
//! cargo run --release -p ai-services-examples --example retrieval_quality
//! cargo run --release -p ai-services-examples --example retrieval_quality -- \
//!     --embedding-model all-MiniLM-L6-v2 --embedding-url http://127.0.0.1:8081/v1
//! ```
//!
//! The questions are in `examples/retrieval/questions.tsv`, each with the passages that answer it. They are
//! about the documents in `examples/documents`. Questions of the kind `term` contain a rare word of the
//! answer, questions of the kind `meaning` use other words.
//!
//! Each search returns 20 passages; the passages of the hybrid search are re-ranked. Results without a
//! network, with vectors of hashed words and a re-ranker that counts the words of the question:
//!
//! ```text
//! 87 questions, 60 passages of 13 documents, embedded by hashing-1, re-ranked by shared words
//!
//! search           questions  recall@1  recall@3  recall@5   nDCG@10
//! exact (vector)   all           0.609     0.770     0.805     0.732
//! exact (vector)   meaning       0.411     0.643     0.696     0.592
//! exact (vector)   term          0.968     1.000     1.000     0.984
//! words (BM25)     all           0.563     0.713     0.782     0.698
//! words (BM25)     meaning       0.375     0.554     0.661     0.555
//! words (BM25)     term          0.903     1.000     1.000     0.956
//! hybrid (RRF)     all           0.621     0.770     0.782     0.754
//! hybrid (RRF)     meaning       0.446     0.643     0.661     0.633
//! hybrid (RRF)     term          0.935     1.000     1.000     0.972
//! re-ranked        all           0.667     0.770     0.805     0.773
//! re-ranked        meaning       0.500     0.643     0.696     0.656
//! re-ranked        term          0.968     1.000     1.000     0.984
//! ```
//!
//! Results with all-MiniLM-L6-v2 (16 bits, llama.cpp) and a re-ranker that computes the mean of two cosine
//! similarities of the question: to the passage, and to its most similar sentence:
//!
//! ```text
//! 87 questions, 60 passages of 13 documents, embedded by all-MiniLM-L6-v2, re-ranked by nearest sentence
//!
//! search           questions  recall@1  recall@3  recall@5   nDCG@10
//! exact (vector)   all           0.799     0.954     0.966     0.903
//! exact (vector)   meaning       0.777     0.946     0.964     0.888
//! exact (vector)   term          0.839     0.968     0.968     0.930
//! words (BM25)     all           0.563     0.713     0.782     0.698
//! words (BM25)     meaning       0.375     0.554     0.661     0.555
//! words (BM25)     term          0.903     1.000     1.000     0.956
//! hybrid (RRF)     all           0.736     0.833     0.908     0.851
//! hybrid (RRF)     meaning       0.625     0.759     0.857     0.787
//! hybrid (RRF)     term          0.935     0.968     1.000     0.968
//! re-ranked        all           0.845     0.948     0.966     0.924
//! re-ranked        meaning       0.848     0.938     0.964     0.926
//! re-ranked        term          0.839     0.968     0.968     0.921
//! ```
//!
//! The model finds passages by meaning that a search by words misses, and a search by words ranks terms
//! higher. Hybrid search is best for terms, but worse than the model for meaning; re-ranking makes up for
//! that. A dedicated re-ranking model (`--rerank-url`) has not been measured.
#![allow(clippy::print_stdout, reason = "examples print their results")]

#[path = "../src/documents/mod.rs"]
mod documents;
#[path = "../src/filter.rs"]
mod filter;
#[path = "../src/documents/metrics.rs"]
mod metrics;
#[path = "../src/documents/questions.rs"]
mod questions;
#[path = "../src/render.rs"]
mod render;
#[path = "../src/documents/rerankers.rs"]
mod rerankers;

use ai_services::TurnContext;
use ai_services::document::DirectoryLoader;
use ai_services::embedding::EmbeddingModel;
use ai_services::ingestion::EmbeddingStoreIngestor;
use ai_services::message::UserMessage;
use ai_services::model::ScoringModel;
use ai_services::providers::cohere::RerankModel;
use ai_services::rag::{
    ContentAggregator, ContentRetriever, EmbeddingStoreContentRetriever, Query,
    ReRankingContentAggregator, RetrievedContent, SearchMode,
};
use ai_services::store::sqlite::SqliteEmbeddingStore;
use clap::Parser;
use documents::source::{FOLDER, SplitterByFileType, embedding_model, with_title};
use metrics::{ndcg_at, recall_at};
use questions::{check, gains, questions};
use rerankers::{NearestSentence, SharedWords};
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;

/// Number of passages that each search returns and that are re-ranked.
const DEPTH: usize = 20;

/// Measures the quality of retrieval
#[derive(Parser)]
struct Args {
    /// An embedding model with OpenAI's protocol; default: hashed words
    #[arg(long, value_name = "NAME")]
    embedding_model: Option<String>,

    /// Another server with the `--embedding-model`; no key is sent to it
    #[arg(long, value_name = "URL", requires = "embedding_model")]
    embedding_url: Option<String>,

    /// A re-ranking server, for example llama.cpp with `--reranking`: the URL to which `/rerank` is appended;
    /// default: the embedding model compares sentences; without an embedding model, words are compared
    #[arg(long, value_name = "URL")]
    rerank_url: Option<String>,

    /// The re-ranking model, if the server has several
    #[arg(long, value_name = "NAME", requires = "rerank_url")]
    rerank_model: Option<String>,

    /// Maximum length of a passage, in characters
    #[arg(long, value_name = "NUMBER", default_value_t = 400)]
    passage: usize,
}

#[tokio::main]
#[allow(clippy::print_stderr, reason = "errors belong on standard error")]
async fn main() -> ExitCode {
    match measure(&Args::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {}", render::chain(error.as_ref()));
            ExitCode::FAILURE
        }
    }
}

async fn measure(args: &Args) -> anyhow::Result<()> {
    let questions = questions()?;
    let model = embedding_model(args.embedding_model.as_deref(), args.embedding_url.as_deref())?;
    let reranker = reranker(args, &model)?;
    let store = SqliteEmbeddingStore::in_memory().await?;
    let ingestor = EmbeddingStoreIngestor::builder()
        .store(Arc::new(store.clone()))
        .model(Arc::clone(&model))
        .splitter(SplitterByFileType::new(args.passage)?)
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
    let mut rows_by_search: BTreeMap<(usize, &str), Vec<[f64; 4]>> = BTreeMap::new();
    for question in &questions {
        let lists = searches.all(question.text).await?;
        for (number, list) in lists.iter().enumerate() {
            let gains = gains(list, &question.labels);
            let relevant = question.labels.len();
            let row = [
                recall_at(&gains, relevant, 1),
                recall_at(&gains, relevant, 3),
                recall_at(&gains, relevant, 5),
                ndcg_at(&gains, relevant, 10),
            ];
            for group in ["all", question.kind] {
                rows_by_search.entry((number, group)).or_default().push(row);
            }
        }
    }
    show(&rows_by_search);
    Ok(())
}

fn reranker(
    args: &Args,
    model: &Arc<dyn EmbeddingModel>,
) -> ai_services::Result<Arc<dyn ScoringModel>> {
    Ok(match (&args.rerank_url, &args.embedding_model) {
        (Some(url), _) => {
            let builder = RerankModel::builder().base_url(url);
            let builder = match args.rerank_model.as_deref() {
                Some(name) => builder.model(name),
                None => builder,
            };
            Arc::new(builder.build()?)
        }
        (None, Some(_)) => Arc::new(NearestSentence::new(Arc::clone(model))),
        (None, None) => Arc::new(SharedWords),
    })
}

/// The compared searches.
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

    /// Returns a list of passages for each search, and the re-ranked list of the last one.
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

fn show(rows_by_search: &BTreeMap<(usize, &str), Vec<[f64; 4]>>) {
    const SEARCHES: [&str; 4] = ["exact (vector)", "words (BM25)", "hybrid (RRF)", "re-ranked"];
    println!(
        "{:16} {:9} {:>9} {:>9} {:>9} {:>9}",
        "search", "questions", "recall@1", "recall@3", "recall@5", "nDCG@10"
    );
    for ((number, group), rows) in rows_by_search {
        let mean = |column: usize| {
            rows.iter().filter_map(|row| row.get(column)).sum::<f64>() / rows.len() as f64
        };
        let name = SEARCHES.get(*number).unwrap_or(&"");
        let [one, three, five, ndcg] = [0, 1, 2, 3].map(mean);
        println!("{name:16} {group:9} {one:>9.3} {three:>9.3} {five:>9.3} {ndcg:>9.3}");
    }
}
