//! Answers questions about a folder of documents, with numbered sources.
//!
//! ```sh
//! cargo run -p ai-services-examples --example chat_with_documents -- DIR "question"
//! ```
//!
//! The folder is ingested into a SQLite index, which is searched by vector and by words. A later run ingests
//! only changed files, and resumes an interrupted run. Without arguments it answers a question about the
//! documents in `examples/documents`, without a network: vectors are hashed words, and the answer is a
//! quotation. With real models, for example of llama.cpp's server:
//!
//! ```sh
//! cargo run -p ai-services-examples --example chat_with_documents -- \
//!     --embedding-model all-minilm --embedding-url http://127.0.0.1:8081/v1 \
//!     --model openai/llama --base-url http://127.0.0.1:8080/v1 \
//!     DIR "question"
//! ```

#[path = "../src/documents/mod.rs"]
mod documents;
#[path = "../src/filter.rs"]
mod filter;
#[path = "../src/documents/index.rs"]
mod index;
#[path = "../src/documents/librarian.rs"]
mod librarian;
#[path = "../src/documents/progress.rs"]
mod progress;
#[path = "../src/documents/quoting.rs"]
mod quoting;
#[path = "../src/render.rs"]
mod render;
#[path = "../src/terminal.rs"]
mod terminal;

use ai_services::embedding::{EmbeddingModel, EmbeddingStore};
use ai_services::ingestion::IngestionReport;
use ai_services::model::ChatModel;
use ai_services::providers::ModelName;
use ai_services::rag::{EmbeddingStoreContentRetriever, SearchMode};
use anyhow::{Context, bail};
use clap::Parser;
use documents::source::{FOLDER, embedding_model};
use librarian::{answer, librarian, show};
use quoting::QuotingModel;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

const QUESTION: &str = "How long does it take to charge a battery?";

/// Exit code of a program that was stopped with Ctrl-C, by convention of the shell.
const EXIT_INTERRUPTED: u8 = 130;

/// Answers a question about a folder of documents
///
/// The answer and its sources are written to standard output, everything else to standard error. The exit
/// code is 1 if the question could not be answered or a file could not be read.
#[derive(Parser)]
#[command(after_help = ENVIRONMENT)]
struct Args {
    /// Folder with text, Markdown, HTML or PDF files
    #[arg(value_name = "DIR", default_value = FOLDER, hide_default_value = true)]
    folder: PathBuf,

    /// The question; quotation marks are optional
    question: Vec<String>,

    /// The chat model: `openai/NAME`, `anthropic/NAME`, `gemini/NAME`, `ollama/NAME`; default: quotes from
    /// the passages
    #[arg(long, value_name = "PROVIDER/NAME")]
    model: Option<ModelName>,

    /// Another server with the protocol of the `--model`; no key is sent to it
    #[arg(long, value_name = "URL", requires = "model")]
    base_url: Option<String>,

    /// An embedding model with OpenAI's protocol; default: hashed words
    #[arg(long, value_name = "NAME")]
    embedding_model: Option<String>,

    /// Another server with the `--embedding-model`; no key is sent to it
    #[arg(long, value_name = "URL", requires = "embedding_model")]
    embedding_url: Option<String>,

    /// The file of the index; default: a file in the data directory of this system
    ///
    /// A file can be shared by any number of folders and embedding models.
    #[arg(long, value_name = "FILE")]
    index: Option<PathBuf>,

    /// Ingest all files again, including unchanged ones
    #[arg(long)]
    rebuild: bool,

    /// Number of passages in the prompt
    #[arg(long, value_name = "NUMBER", default_value_t = 5, value_parser = clap::value_parser!(u8).range(1..))]
    passages: u8,
}

const ENVIRONMENT: &str = "\
Without a URL, keys and servers come from the environment: OPENAI_API_KEY and OPENAI_BASE_URL for
`openai/NAME` and the embedding model, ANTHROPIC_API_KEY, GEMINI_API_KEY, OLLAMA_HOST.";

fn main() -> anyhow::Result<ExitCode> {
    let args = Args::parse();
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let code = runtime.block_on(async {
        tokio::select! {
            outcome = run(&args) => code(outcome),
            _ = tokio::signal::ctrl_c() => {
                notice("stopped; the next run resumes from the index");
                ExitCode::from(EXIT_INTERRUPTED)
            }
        }
    });
    // Do not wait for a file that is being read.
    runtime.shutdown_background();
    Ok(code)
}

fn code(outcome: anyhow::Result<ExitCode>) -> ExitCode {
    outcome.unwrap_or_else(|error| {
        let io = error.chain().find_map(|error| error.downcast_ref::<io::Error>());
        if io.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe) {
            // The reader of the answer has exited.
            return ExitCode::SUCCESS;
        }
        notice(&format!("error: {}", render::chain(error.as_ref())));
        ExitCode::FAILURE
    })
}

async fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let folder = folder(&args.folder)?;
    let question = match args.question.join(" ") {
        question if question.trim().is_empty() => QUESTION.to_owned(),
        question => question,
    };
    let model = embedding_model(args.embedding_model.as_deref(), args.embedding_url.as_deref())?;
    // First, so that an unreachable server is reported before files are read.
    let vector = model.embed_query(&question).await.context("cannot call the embedding model")?;
    let file = args.index.clone().map_or_else(index::default_path, Ok)?;
    let store = index::open(&file, &folder, &*model)
        .await
        .with_context(|| format!("cannot open the index `{}`", file.display()))?;
    if args.rebuild {
        store.clear().await?;
    }
    index::check(&store, &vector).await?;
    let report = progress::ingest(&folder, Arc::new(store.clone()), Arc::clone(&model)).await?;
    let passages = store.count().await?;
    report_ingestion(&report, passages, &file);
    if passages == 0 {
        bail!("no text, Markdown, HTML or PDF files in `{}`", folder.display());
    }
    notice(&format!("question: {question}"));
    let retriever = EmbeddingStoreContentRetriever::builder(store.clone())
        .embedding_model(model)
        .mode(SearchMode::Hybrid)
        .max_results(usize::from(args.passages))
        .build()?;
    let librarian = librarian(chat_model(args)?, retriever)?;
    let sources = answer(&librarian, &question).await.context("cannot answer the question")?;
    show(&sources)?;
    store.close().await;
    Ok(if report.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Returns the canonical path of the folder.
fn folder(path: &Path) -> anyhow::Result<PathBuf> {
    let folder =
        path.canonicalize().with_context(|| format!("cannot open `{}`", path.display()))?;
    anyhow::ensure!(folder.is_dir(), "`{}` is not a folder", path.display());
    Ok(folder)
}

/// Returns the chat model of `--model`, or the demonstration model.
fn chat_model(args: &Args) -> ai_services::Result<Arc<dyn ChatModel>> {
    match (&args.model, &args.base_url) {
        (None, _) => {
            notice("model: none, the answer is a quotation; set --model for a written answer");
            Ok(Arc::new(QuotingModel))
        }
        (Some(name), None) => name.build(),
        (Some(name), Some(url)) => name.build_at(url),
    }
}

/// Prints failures and a summary of the ingestion.
fn report_ingestion(report: &IngestionReport, passages: u64, file: &Path) {
    for line in progress::failures(report) {
        notice(&line);
    }
    notice(&progress::summary(&report.totals));
    notice(&format!("index: {passages} passages in {}", file.display()));
}

#[allow(clippy::print_stderr, reason = "standard output contains only the answer")]
fn notice(line: &str) {
    eprintln!("{}", render::plain(line));
}
