//! Where the index of a folder is kept.

use super::documents::embedder::fnv;
use ai_services::embedding::{EmbeddingModel, EmbeddingStore, VectorSearch};
use ai_services::store::sqlite::SqliteEmbeddingStore;
use anyhow::Context;
use directories::ProjectDirs;
use std::fs;
use std::path::{Path, PathBuf};

/// The file for all indexes unless another one is named; its directory is created if need be.
pub(crate) fn usual() -> anyhow::Result<PathBuf> {
    let programs = ProjectDirs::from("", "", "ai-services-documents");
    let programs = programs.context("this system has no place for data; set --index")?;
    let directory = programs.data_dir();
    fs::create_dir_all(directory)
        .with_context(|| format!("`{}` cannot be created; set --index", directory.display()))?;
    Ok(directory.join("index.sqlite"))
}

/// The index of a folder by a model: tables of its own in the file, so that neither another folder nor
/// another model touches them.
pub(crate) async fn open(
    file: &Path,
    folder: &Path,
    model: &dyn EmbeddingModel,
) -> anyhow::Result<SqliteEmbeddingStore> {
    let store = SqliteEmbeddingStore::builder().path(file).table(table(folder, model.name()));
    Ok(store.open().await?)
}

/// Refuses an index that was made by another model of the same name, as far as its vectors show it.
pub(crate) async fn check(store: &dyn EmbeddingStore, vector: &[f32]) -> anyhow::Result<()> {
    let search = VectorSearch::new(vector).max_results(1);
    store.search(&search).await.map(drop).context("the index cannot be searched; try --rebuild")
}

fn table(folder: &Path, model: &str) -> String {
    format!("documents_{:016x}", fnv(&format!("{}\n{model}", folder.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folder_and_model_have_an_index_of_their_own() {
        let one = table(Path::new("/a"), "m");
        assert_eq!(one, table(Path::new("/a"), "m"));
        assert!(one != table(Path::new("/b"), "m") && one != table(Path::new("/a"), "n"));
    }
}
