//! Documents from a folder.

use super::glob::Glob;
use super::walk::{Selection, Walk};
use super::{Document, LoadError, load};
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Loads the files of a folder and of all folders in it.
///
/// Files are loaded one after the other, as [`load_file`](super::load_file) does, in the order of their
/// names, while somebody asks for the next document; no more than one file is in memory. A file that cannot
/// be loaded is an error in the stream, and the others go on. The `source` of a document is its path
/// relative to the folder, with `/` between its parts.
///
/// By default all files with an ending of text, Markdown, HTML or PDF. Hidden files and folders are left
/// out, and links are not followed, so nothing outside of the folder is read.
///
/// # Examples
///
/// ```
/// use ai_services::document::{DirectoryLoader, key};
/// use futures_util::StreamExt;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> ai_services::Result<()> {
/// let folder = std::env::temp_dir().join(format!("directory-loader-{}", std::process::id()));
/// # std::fs::create_dir_all(folder.join("old")).unwrap();
/// # std::fs::write(folder.join("a.md"), "# A").unwrap();
/// # std::fs::write(folder.join("old/b.md"), "# B").unwrap();
/// let loader = DirectoryLoader::new(&folder).extensions(["md"]).exclude("old");
/// let mut documents = loader.documents();
/// while let Some(document) = documents.next().await {
///     let document = document?; // or go on with the next one
///     let source = document.metadata().get(key::SOURCE).and_then(|source| source.as_text());
///     assert_eq!(source, Some("a.md"));
/// }
/// # std::fs::remove_dir_all(&folder).unwrap();
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[must_use]
#[doc(alias = "FileSystemDocumentLoader")]
pub struct DirectoryLoader(Selection);

impl DirectoryLoader {
    /// A loader of this folder.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self(Selection { root: root.into(), ..Selection::default() })
    }

    /// Loads files with these endings instead of the usual ones, in small or capital letters: `md`.
    pub fn extensions<E: Into<String>>(mut self, extensions: impl IntoIterator<Item = E>) -> Self {
        let extension =
            |extension: E| extension.into().trim_start_matches('.').to_ascii_lowercase();
        self.0.extensions = Some(extensions.into_iter().map(extension).collect());
        self
    }

    /// Loads files whose path fits this pattern, or another one that is included, whatever their ending.
    ///
    /// A pattern is of the whole path relative to the folder, with `/` between its parts: `*` is any text
    /// within a part, `?` one character, `**` any number of parts. `handbook/**/*.md`.
    pub fn include(mut self, pattern: impl AsRef<str>) -> Self {
        self.0.include.push(Glob::new(pattern.as_ref()));
        self
    }

    /// Leaves out files and folders whose path fits this pattern. `**/node_modules`.
    pub fn exclude(mut self, pattern: impl AsRef<str>) -> Self {
        self.0.exclude.push(Glob::new(pattern.as_ref()));
        self
    }

    /// Sets how many bytes a file has at most; 32 MiB by default. A larger one is an error.
    pub fn max_file_size(mut self, bytes: u64) -> Self {
        self.0.bounds.bytes = bytes;
        self
    }

    /// Sets how long a file may take; a minute by default. It then goes on in its thread, and its result
    /// is dropped.
    pub fn timeout(mut self, time: Duration) -> Self {
        self.0.bounds.time = time;
        self
    }

    /// The documents. Nothing is read before the first one is asked for.
    pub fn documents(&self) -> BoxStream<'static, Result<Document, LoadError>> {
        let bounds = self.0.bounds;
        let walk = Walk::new(Arc::new(self.0.clone()));
        stream::unfold((walk, VecDeque::new()), move |(mut walk, mut ready)| async move {
            loop {
                if let Some(document) = ready.pop_front() {
                    return Some((Ok(document), (walk, ready)));
                }
                let found = walk.next().await?;
                let loaded = match found {
                    Ok(file) => load(&file.path, file.name, bounds).await,
                    Err(error) => Err(error),
                };
                match loaded {
                    Ok(documents) => ready.extend(documents),
                    Err(error) => return Some((Err(error), (walk, ready))),
                }
            }
        })
        .boxed()
    }

    /// The names of the files that would be loaded, as they would be in `source`, for example to know how
    /// many there are.
    pub fn sources(&self) -> BoxStream<'static, Result<String, LoadError>> {
        let walk = Walk::new(Arc::new(self.0.clone()));
        stream::unfold(walk, |mut walk| async move {
            let found = walk.next().await?;
            Some((found.map(|file| file.name), walk))
        })
        .boxed()
    }
}
