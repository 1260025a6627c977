//! Questions to a folder of documents: an answer with numbered sources.
//!
//! ```sh
//! cargo run -p ai-services-examples --example chat_with_documents -- DIR "question"
//! ```
//!
//! The folder is read into an index in SQLite, and searched by meaning and by words. Another run reads only
//! what has changed, and goes on where one was interrupted. Without arguments it asks a question about the
//! documents in `examples/documents`, and without a network: vectors are made of hashed words, and the
//! answer is a quotation. With real models, for example of llama.cpp's server:
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

/// What a shell says of a program that Ctrl-C has ended.
const INTERRUPTED: u8 = 130;

/// Asks a question about a folder of documents
///
/// The answer and its sources go to standard output, everything else to standard error. The status is 1 if
/// there is no answer, or if a file could not be read.
#[derive(Parser)]
#[command(after_help = ENVIRONMENT)]
struct Args {
    /// A folder with text, Markdown, HTML or PDF
    #[arg(value_name = "DIR", default_value = FOLDER, hide_default_value = true)]
    folder: PathBuf,

    /// The question, which needs no quotation marks
    question: Vec<String>,

    /// Who answers: `openai/NAME`, `anthropic/NAME`, `gemini/NAME`, `ollama/NAME`; without, what was found is
    /// quoted
    #[arg(long, value_name = "PROVIDER/NAME")]
    model: Option<ModelName>,

    /// Another server that speaks the protocol of the `--model`; it is sent no key
    #[arg(long, value_name = "URL", requires = "model")]
    base_url: Option<String>,

    /// An embedding model behind OpenAI's protocol; without, words are hashed
    #[arg(long, value_name = "NAME")]
    embedding_model: Option<String>,

    /// Another server that has the `--embedding-model`; it is sent no key
    #[arg(long, value_name = "URL", requires = "embedding_model")]
    embedding_url: Option<String>,

    /// The file for the index; without, one in the directory that this system has for the data of programs
    ///
    /// It may be used for any number of folders and embedding models.
    #[arg(long, value_name = "FILE")]
    index: Option<PathBuf>,

    /// Read all files again, whether they have changed or not
    #[arg(long)]
    rebuild: bool,

    /// How many passages the model is told
    #[arg(long, value_name = "NUMBER", default_value_t = 5, value_parser = clap::value_parser!(u8).range(1..))]
    passages: u8,
}

const ENVIRONMENT: &str = "\
Keys and servers come from the environment, unless a URL is given: OPENAI_API_KEY and OPENAI_BASE_URL for
`openai/NAME` and for the embedding model, ANTHROPIC_API_KEY, GEMINI_API_KEY, OLLAMA_HOST.";

fn main() -> anyhow::Result<ExitCode> {
    let args = Args::parse();
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let code = runtime.block_on(async {
        tokio::select! {
            outcome = run(&args) => code(outcome),
            _ = tokio::signal::ctrl_c() => {
                say("stopped; what is in the index stays, and another run goes on from there");
                ExitCode::from(INTERRUPTED)
            }
        }
    });
    // A file that is being read is not waited for.
    runtime.shutdown_background();
    Ok(code)
}

fn code(outcome: anyhow::Result<ExitCode>) -> ExitCode {
    outcome.unwrap_or_else(|error| {
        let io = error.chain().find_map(|error| error.downcast_ref::<io::Error>());
        if io.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe) {
            // Whoever reads the answer has left.
            return ExitCode::SUCCESS;
        }
        say(&format!("error: {}", render::chain(error.as_ref())));
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
    // Before anything is read: a server that does not answer is noticed at once.
    let vector = model.embed_query(&question).await.context("the embedding model")?;
    let file = args.index.clone().map_or_else(index::usual, Ok)?;
    let store = index::open(&file, &folder, &*model)
        .await
        .with_context(|| format!("the index `{}`", file.display()))?;
    if args.rebuild {
        store.remove_all(None).await?;
    }
    index::check(&store, &vector).await?;
    let report = progress::ingest(&folder, Arc::new(store.clone()), Arc::clone(&model)).await?;
    let passages = store.count(None).await?;
    tell(&report, passages, &file);
    if passages == 0 {
        bail!("there is nothing to read in `{}`: no text, Markdown, HTML or PDF", folder.display());
    }
    say(&format!("question: {question}"));
    let retriever = EmbeddingStoreContentRetriever::builder(store.clone())
        .embedding_model(model)
        .mode(SearchMode::Hybrid)
        .max_results(usize::from(args.passages))
        .build()?;
    let librarian = librarian(chat_model(args)?, retriever)?;
    let sources = answer(&librarian, &question).await.context("no answer")?;
    show(&sources)?;
    store.close().await;
    Ok(if report.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The folder by its one name.
fn folder(given: &Path) -> anyhow::Result<PathBuf> {
    let folder = given.canonicalize().with_context(|| format!("`{}`", given.display()))?;
    anyhow::ensure!(folder.is_dir(), "`{}` is no folder", given.display());
    Ok(folder)
}

/// Who answers.
fn chat_model(args: &Args) -> ai_services::Result<Arc<dyn ChatModel>> {
    match (&args.model, &args.base_url) {
        (None, _) => {
            say("model: none, so what was found is quoted; set --model for an answer in words");
            Ok(Arc::new(QuotingModel))
        }
        (Some(name), None) => name.build(),
        (Some(name), Some(url)) => name.build_at(url),
    }
}

/// How the index was brought up to date.
fn tell(report: &IngestionReport, passages: u64, file: &Path) {
    for line in progress::failures(report) {
        say(&line);
    }
    say(&progress::summary(&report.totals));
    say(&format!("index: {passages} passages in {}", file.display()));
}

#[allow(clippy::print_stderr, reason = "what is no answer is not for standard output")]
fn say(line: &str) {
    eprintln!("{}", render::plain(line));
}
