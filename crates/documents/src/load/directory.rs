//! Loading of folders.

use super::glob::Glob;
use super::walk::{Selection, Walk};
use super::{Document, LoadError, load};
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Loads the files of a folder and its subfolders.
///
/// Files are loaded one after the other, in the order of their names, as by
/// [`load_file`](super::load_file). The stream is lazy; at most one file is in memory. A file that cannot
/// be loaded is an error in the stream, and the stream continues with the next file. The `source` of a
/// document is its path relative to the folder, with `/` as the separator.
///
/// Default: all files with a file extension of text, Markdown, HTML or PDF. Hidden files and folders are
/// skipped, and links are not followed, so files outside of the folder are never read.
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
///     let document = document?; // or continue with the next one
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
    /// Creates a loader of this folder.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self(Selection { root: root.into(), ..Selection::default() })
    }

    /// Sets the file extensions, such as `md`, instead of the default ones. Letter case is ignored.
    pub fn extensions<E: Into<String>>(mut self, extensions: impl IntoIterator<Item = E>) -> Self {
        let extension =
            |extension: E| extension.into().trim_start_matches('.').to_ascii_lowercase();
        self.0.extensions = Some(extensions.into_iter().map(extension).collect());
        self
    }

    /// Adds a pattern of paths to load. With patterns, file extensions are ignored: a file is loaded if its
    /// path matches any of them.
    ///
    /// A pattern matches the whole path relative to the folder, with `/` as the separator, for example
    /// `handbook/**/*.md`: `*` matches any text within a path component, `?` one character, `**` any number
    /// of components.
    pub fn include(mut self, pattern: impl AsRef<str>) -> Self {
        self.0.include.push(Glob::new(pattern.as_ref()));
        self
    }

    /// Adds a pattern of files and folders to skip, for example `**/node_modules`.
    pub fn exclude(mut self, pattern: impl AsRef<str>) -> Self {
        self.0.exclude.push(Glob::new(pattern.as_ref()));
        self
    }

    /// Sets the maximum size of a file in bytes. Default: 32 MiB. A larger file is an error.
    pub fn max_file_size(mut self, bytes: u64) -> Self {
        self.0.bounds.bytes = bytes;
        self
    }

    /// Sets the time limit of one file. Default: 60 seconds. After the limit, the thread may continue to run,
    /// but its result is dropped.
    pub fn timeout(mut self, time: Duration) -> Self {
        self.0.bounds.time = time;
        self
    }

    /// Returns the documents. Reading starts when the stream is first polled.
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

    /// Returns the names of the files that [`documents`](Self::documents) would load, in the form of
    /// `source`, for example to count them.
    pub fn sources(&self) -> BoxStream<'static, Result<String, LoadError>> {
        let walk = Walk::new(Arc::new(self.0.clone()));
        stream::unfold(walk, |mut walk| async move {
            let found = walk.next().await?;
            Some((found.map(|file| file.name), walk))
        })
        .boxed()
    }
}
