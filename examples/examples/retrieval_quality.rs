//! How well passages are found: recall and nDCG of search by vector, by words, by both, and re-ranked.
//!
//! ```sh
//! cargo run --release -p ai-services-examples --example retrieval_quality
//! cargo run --release -p ai-services-examples --example retrieval_quality -- \
//!     --embedding-model all-MiniLM-L6-v2 --embedding-url http://127.0.0.1:8081/v1
//! ```
//!
//! The questions are in `examples/retrieval/questions.tsv`, each with the passages that answer it; they are
//! about the documents in `examples/documents`. Questions of the kind `term` have a rare word of the answer,
//! those of the kind `meaning` say it in other words.
//!
//! Of each search the best 20 count; those of the hybrid search are ranked again. Without a network, with
//! vectors of hashed words and a re-ranker that counts the words of the question:
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
//! With all-MiniLM-L6-v2 (in 16 bits, by llama.cpp) and a re-ranker that takes the mean of two of its cosines, of the
//! question with the passage and with the nearest sentence of it:
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
//! So a real model finds by meaning what words do not, and words find terms that it does not put first. Both
//! together are best for terms, but cost it some of the meaning, which ranking the candidates again brings back.
//! A model that was made to re-rank, behind `--rerank-url`, has not been measured.
#![allow(clippy::print_stdout, reason = "an example shows what it measured")]

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
use documents::source::{ByKind, FOLDER, embedding_model, with_title};
use metrics::{ndcg_at, recall_at};
use questions::{check, gains, questions};
use rerankers::{NearestSentence, SharedWords};
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;

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

    /// Its model, for a server that has more than one
    #[arg(long, value_name = "NAME", requires = "rerank_url")]
    rerank_model: Option<String>,

    /// How long passages are at most, in characters
    #[arg(long, value_name = "NUMBER", default_value_t = 400)]
    passage: usize,
}

#[tokio::main]
#[allow(clippy::print_stderr, reason = "errors are not for standard output")]
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
