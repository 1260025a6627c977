//! Ingestion of a folder with a progress bar.

use super::documents::source::{SplitterByFileType, with_title};
use super::terminal;
use ai_services::document::DirectoryLoader;
use ai_services::embedding::{EmbeddingModel, EmbeddingStore};
use ai_services::ingestion::{
    EmbeddingStoreIngestor, IngestionErrorPolicy, IngestionProgress, IngestionReport,
    MissingSources,
};
use futures_util::StreamExt;
use futures_util::future::ready;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::path::Path;
use std::sync::Arc;

/// Maximum length of a passage, in characters.
const MAX_PASSAGE_CHARS: usize = 400;

/// Maximum number of passages per request to the embedding model. A small number keeps the bar moving and
/// loses little work on Ctrl-C if the model is slow.
const BATCH_SIZE: usize = 16;

/// Ingests new and changed files, and removes deleted ones from the index.
pub(crate) async fn ingest(
    folder: &Path,
    store: Arc<dyn EmbeddingStore>,
    model: Arc<dyn EmbeddingModel>,
) -> anyhow::Result<IngestionReport> {
    let loader = DirectoryLoader::new(folder);
    let files = loader.sources().filter(|source| ready(source.is_ok())).count().await;
    let bar = Bar::new(files as u64, terminal::draw_target());
    let shown = bar.0.clone();
    let ingestor = EmbeddingStoreIngestor::builder()
        .store(store)
        .model(model)
        .splitter(SplitterByFileType::new(MAX_PASSAGE_CHARS)?)
        .segment_transformer(with_title)
        .batch_size(BATCH_SIZE)
        .missing_sources(MissingSources::Remove)
        .on_error(IngestionErrorPolicy::Skip)
        .progress(move |progress| show(&shown, progress))
        .build()?;
    Ok(ingestor.ingest(loader.documents()).await?)
}

/// Progress bar that is cleared on drop.
struct Bar(ProgressBar);

impl Bar {
    fn new(files: u64, target: ProgressDrawTarget) -> Self {
        let bar = ProgressBar::with_draw_target(Some(files), target);
        let template = "{bar:30} {pos}/{len} files, {msg}{elapsed}";
        match ProgressStyle::with_template(template) {
            Ok(style) => Self(bar.with_style(style)),
            Err(_) => Self(bar),
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

fn show(bar: &ProgressBar, progress: &IngestionProgress) {
    if progress.embedded > 0 {
        bar.set_message(format!("{} passages, ", progress.embedded));
    }
    bar.set_position(progress.sources_done + progress.sources_unchanged + progress.sources_failed);
}

/// Describes the failures, grouped by reason.
pub(crate) fn failures(report: &IngestionReport) -> Vec<String> {
    let mut lines: Vec<(String, &str, usize)> = Vec::new();
    for failure in &report.failures {
        let reason = failure.error.to_string();
        match lines.iter_mut().find(|(known, _, _)| *known == reason) {
            Some((_, _, count)) => *count += 1,
            None => lines.push((reason, &failure.source, 1)),
        }
    }
    let line = |(reason, source, count): (String, &str, usize)| match count {
        // Errors of a loader name the file.
        1 if reason.contains(source) => format!("failed: {reason}"),
        1 => format!("failed: `{source}`: {reason}"),
        _ => format!("failed: `{source}` and {} more: {reason}", count - 1),
    };
    lines.into_iter().map(line).collect()
}

/// Summarizes an ingestion on one line.
pub(crate) fn summary(totals: &IngestionProgress) -> String {
    let files = [
        (totals.sources_done, "new or changed"),
        (totals.sources_unchanged, "unchanged"),
        (totals.sources_removed, "removed"),
        (totals.sources_failed, "failed"),
    ];
    let files: Vec<_> = files
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, state)| format!("{count} {state}"))
        .collect();
    if files.is_empty() {
        "no files".to_owned()
    } else {
        format!("files: {}; {} passages embedded", files.join(", "), totals.embedded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summary_counts_files_and_passages() {
        let mut totals = IngestionProgress::default();
        assert_eq!(summary(&totals), "no files");
        totals.sources_done = 2;
        totals.sources_removed = 1;
        totals.embedded = 9;
        assert_eq!(summary(&totals), "files: 2 new or changed, 1 removed; 9 passages embedded");
    }
}
