//! Bringing an index up to date with a folder, and showing how far it is.

use super::documents::source::{ByKind, with_title};
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

/// How long a passage is at most, in characters.
const PASSAGE: usize = 400;

/// How many passages a request to the embedding model has at most: few, so that the bar moves, and little is
/// lost by Ctrl-C, if the model is slow.
const REQUEST: usize = 16;

/// Reads what is new or has changed, and forgets what is gone.
pub(crate) async fn ingest(
    folder: &Path,
    store: Arc<dyn EmbeddingStore>,
    model: Arc<dyn EmbeddingModel>,
) -> anyhow::Result<IngestionReport> {
    let loader = DirectoryLoader::new(folder);
    let files = loader.sources().filter(|source| ready(source.is_ok())).count().await;
    let bar = Bar::new(files as u64, terminal::place());
    let shown = bar.0.clone();
    let ingestor = EmbeddingStoreIngestor::builder()
        .store(store)
        .model(model)
        .splitter(ByKind::new(PASSAGE)?)
        .segment_transformer(with_title)
        .batch_size(REQUEST)
        .missing_sources(MissingSources::Remove)
        .on_error(IngestionErrorPolicy::Skip)
        .progress(move |progress| show(&shown, progress))
        .build()?;
    Ok(ingestor.ingest(loader.documents()).await?)
}

/// A bar that is gone when it is dropped, whatever the reason.
struct Bar(ProgressBar);

impl Bar {
    fn new(files: u64, place: ProgressDrawTarget) -> Self {
        let bar = ProgressBar::with_draw_target(Some(files), place);
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

/// What failed, those together that failed for the same reason.
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
        // Whoever reads files names them.
        1 if reason.contains(source) => format!("failed: {reason}"),
        1 => format!("failed: `{source}`: {reason}"),
        _ => format!("failed: `{source}` and {} more: {reason}", count - 1),
    };
    lines.into_iter().map(line).collect()
}

/// What was done, on one line.
pub(crate) fn summary(totals: &IngestionProgress) -> String {
    let files = [
        (totals.sources_done, "new or changed"),
        (totals.sources_unchanged, "as before"),
        (totals.sources_removed, "gone"),
        (totals.sources_failed, "failed"),
    ];
    let files: Vec<_> = files
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    match files.is_empty() {
        true => "no files".to_owned(),
        false => format!("files: {}; {} passages embedded", files.join(", "), totals.embedded),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summary_says_what_happened() {
        let mut totals = IngestionProgress::default();
        assert_eq!(summary(&totals), "no files");
        totals.sources_done = 2;
        totals.sources_removed = 1;
        totals.embedded = 9;
        assert_eq!(summary(&totals), "files: 2 new or changed, 1 gone; 9 passages embedded");
    }
}
