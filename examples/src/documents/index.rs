//! Storage of the index of a folder.

use ai_services::embedding::{EmbeddingModel, EmbeddingStore, VectorSearch};
use ai_services::store::sqlite::SqliteEmbeddingStore;
use anyhow::Context;
use directories::ProjectDirs;
use std::fs;
use std::path::{Path, PathBuf};

/// Returns the default file for all indexes. Creates its directory if it does not exist.
pub(crate) fn default_path() -> anyhow::Result<PathBuf> {
    let programs = ProjectDirs::from("", "", "ai-services-documents");
    let programs = programs.context("no data directory found; set --index")?;
    let directory = programs.data_dir();
    fs::create_dir_all(directory)
        .with_context(|| format!("cannot create `{}`; set --index", directory.display()))?;
    Ok(directory.join("index.sqlite"))
}

/// Opens the index of a folder and an embedding model. Each combination has its own tables in the file.
pub(crate) async fn open(
    file: &Path,
    folder: &Path,
    model: &dyn EmbeddingModel,
) -> anyhow::Result<SqliteEmbeddingStore> {
    let store = SqliteEmbeddingStore::builder().path(file).table(table(folder, model.name()));
    Ok(store.open().await?)
}

/// Fails if the index cannot be searched with the vector, for example because another model with the same
/// name has vectors of another length.
pub(crate) async fn check(store: &dyn EmbeddingStore, vector: &[f32]) -> anyhow::Result<()> {
    let search = VectorSearch::new(vector).max_results(1);
    store.search(&search).await.map(drop).context("cannot search the index; try --rebuild")
}

fn table(folder: &Path, model: &str) -> String {
    format!("documents_{:016x}", fnv(&format!("{}\n{model}", folder.display())))
}

/// FNV-1a with an additional mixing step. Unlike the hashes of the standard library, it never changes.
fn fnv(text: &str) -> u64 {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    (hash ^ (hash >> 32)).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folder_and_model_have_separate_tables() {
        let one = table(Path::new("/a"), "m");
        assert_eq!(one, table(Path::new("/a"), "m"));
        assert!(one != table(Path::new("/b"), "m") && one != table(Path::new("/a"), "n"));
    }
}
