//! Questions to a folder of documents: the answer, with numbered sources.
//!
//! Runs without a network and without arguments: `cargo run --example chat_with_documents -- DIR QUESTION`.
//! A `--model` writes the answer; without one the passages that fit best are shown. With a second run
//! nothing would be embedded again, if the store were kept: see `open` in `examples/src/documents/store.rs`.
#![allow(clippy::print_stdout, reason = "an example shows what it found")]

#[path = "../src/documents/mod.rs"]
mod documents;

use ai_services::ai_service;
use ai_services::document::{DirectoryLoader, Metadata, key};
use ai_services::embedding::{EmbeddingModel, EmbeddingStore, SearchMatch, VectorSearch};
use ai_services::ingestion::{
    EmbeddingStoreIngestor, IngestionErrorPolicy, IngestionProgress, IngestionReport,
    MissingSources,
};
use ai_services::providers::ModelName;
use clap::Parser;
use documents::source::{ByKind, FOLDER, embedding_model, with_title};
use documents::store;
use futures_util::StreamExt;
use futures_util::future::ready;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::{IsTerminal, stderr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[ai_service]
#[system_message(
    "You answer questions from numbered passages. Use only what they say, and put the numbers of the",
    "passages that you use behind each statement, like [2]. If they do not have the answer, say so.",
    delimiter = " "
)]
trait Librarian {
    #[user_message("Passages:\n\n{{passages}}\n\nQuestion: {{question}}")]
    async fn answer(&self, #[v] passages: &str, #[v] question: &str)
    -> ai_services::Result<String>;
}

/// Asks a question about a folder of documents
#[derive(Parser)]
struct Args {
    /// A folder with text, Markdown, HTML or PDF
    #[arg(default_value = FOLDER)]
    folder: PathBuf,

    /// The question
    question: Vec<String>,

    /// Who answers: `openai/NAME`, `anthropic/NAME`, `gemini/NAME`, `ollama/NAME`; without, the passages
    /// are shown
    #[arg(long, value_name = "PROVIDER/NAME")]
    model: Option<ModelName>,

    /// An embedding model behind OpenAI's protocol; without, a simple one on this machine
    #[arg(long, value_name = "NAME")]
    embedding_model: Option<String>,

    /// Where that is; without, OpenAI
    #[arg(long, value_name = "URL", requires = "embedding_model")]
    base_url: Option<String>,

    /// How many passages are looked at
    #[arg(long, default_value_t = 4)]
    passages: usize,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let model = embedding_model(args.embedding_model.as_deref(), args.base_url.as_deref())?;
    let store = store::open();
    let report = ingest(&args.folder, Arc::clone(&store), Arc::clone(&model)).await?;
    for failure in &report.failures {
        eprint_line(&failure.error.to_string());
    }
    let question = match args.question.join(" ") {
        question if question.trim().is_empty() => {
            "How long does it take to charge a battery?".to_owned()
        }
        question => question,
    };
    let vector = model.embed_query(&question).await?;
    let search = VectorSearch::new(&vector).max_results(args.passages);
    let found = store.search(&search).await?;
    anyhow::ensure!(!found.is_empty(), "there is nothing to read in `{}`", args.folder.display());
    match &args.model {
        Some(name) => {
            let librarian = LibrarianService::builder().chat_model(name.build()?).build()?;
            println!("{}\n", visible(&librarian.answer(&numbered(&found), &question).await?));
        }
        None => println!("{}\n\n{}\n", visible(&question), visible(&numbered(&found))),
    }
    for (number, found) in found.iter().enumerate() {
        println!("[{}] {}", number + 1, visible(&origin(found.segment.metadata())));
    }
    Ok(())
}

/// Brings the store up to date with a folder.
async fn ingest(
    folder: &Path,
    store: Arc<dyn EmbeddingStore>,
    model: Arc<dyn EmbeddingModel>,
) -> anyhow::Result<IngestionReport> {
    let loader = DirectoryLoader::new(folder);
    let files = loader.sources().filter(|source| ready(source.is_ok())).count().await;
    let bar = bar(files as u64);
    let shown = bar.clone();
    let ingestor = EmbeddingStoreIngestor::builder()
        .store(store)
        .model(model)
        .splitter(ByKind::new(800)?)
        .segment_transformer(with_title)
        .missing_sources(MissingSources::Remove)
        .on_error(IngestionErrorPolicy::Skip)
        .progress(move |progress: &IngestionProgress| {
            let done = progress.sources_done + progress.sources_unchanged + progress.sources_failed;
            shown.set_position(done);
            shown.set_message(format!("{} passages", progress.embedded));
        })
        .build()?;
    let report = ingestor.ingest(loader.documents()).await?;
    bar.finish_and_clear();
    let totals = &report.totals;
    eprint_line(&format!(
        "{files} files: {} new or changed, {} as before, {} gone, {} failed; {} passages embedded",
        totals.sources_done,
        totals.sources_unchanged,
        totals.sources_removed,
        totals.sources_failed,
        totals.embedded,
    ));
    Ok(report)
}

/// A bar on a terminal, and nothing elsewhere.
fn bar(files: u64) -> ProgressBar {
    if !stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(files);
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} files, {msg}, {elapsed}")
    {
        bar.set_style(style);
    }
    bar
}

/// The passages as the model sees them.
fn numbered(found: &[SearchMatch]) -> String {
    let passage = |(number, found): (usize, &SearchMatch)| {
        format!("[{}] {}", number + 1, found.segment.text())
    };
    found.iter().enumerate().map(passage).collect::<Vec<_>>().join("\n\n")
}

/// Where a passage comes from.
fn origin(metadata: &Metadata) -> String {
    let mut origin = metadata.get(key::SOURCE).map(ToString::to_string).unwrap_or_default();
    if let Some(page) = metadata.get(key::PAGE) {
        origin += &format!(", page {page}");
    }
    if let Some(heading) = metadata.get(key::HEADING) {
        origin += &format!(", {heading}");
    }
    origin
}

/// What documents and models say, without what a terminal would obey.
fn visible(text: &str) -> String {
    text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect()
}

#[allow(clippy::print_stderr, reason = "what is no answer is not for standard output")]
fn eprint_line(line: &str) {
    eprintln!("{}", visible(line));
}
