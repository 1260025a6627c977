//! Loading of documents from files.

mod decode;
mod directory;
mod error;
mod format;
mod glob;
#[cfg(feature = "html")]
mod html;
mod markdown;
#[cfg(feature = "pdf")]
mod pdf;
mod walk;

pub use directory::DirectoryLoader;
pub use error::{LoadError, LoadErrorKind};

use ai_services_core::document::{Document, Metadata, key};
use format::Format;
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::time::{Duration, Instant};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

/// The limits of loading one file.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    bytes: u64,
    time: Duration,
}

/// The deadline of loading one document.
#[derive(Clone, Copy, Debug)]
struct Deadline {
    at: Option<Instant>,
    time: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { bytes: 32 * 1024 * 1024, time: Duration::from_secs(60) }
    }
}

/// Loads a file as plain text, regardless of its name.
///
/// The text is UTF-8, with or without a byte-order mark, or UTF-16 with a byte-order mark. The metadata are
/// `source`, the path as passed, and `file_name`. At most 32 MiB; takes at most 60 seconds.
///
/// # Errors
///
/// Fails if the file cannot be read, is too large, is not text in one of these encodings, or takes too long.
///
/// # Cancellation
///
/// The blocking thread continues until the file is read; its result is dropped.
///
/// # Examples
///
/// ```
/// use ai_services::document::load_text;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> ai_services::Result<()> {
/// let path = std::env::temp_dir().join(format!("load-text-{}.txt", std::process::id()));
/// # std::fs::write(&path, "Bananas are berries.").unwrap();
/// let document = load_text(&path).await?;
/// # std::fs::remove_file(&path).unwrap();
/// assert_eq!(document.text(), "Bananas are berries.");
/// # Ok(())
/// # }
/// ```
pub async fn load_text(path: impl AsRef<Path>) -> Result<Document, LoadError> {
    let path = path.as_ref().to_owned();
    let name = source(&path);
    let bounds = Bounds::default();
    in_thread(&name.clone(), bounds, move |_| {
        let bytes = read(&path, &name, bounds.bytes)?;
        Ok(Document::new(decode::decode(&name, bytes)?, metadata(&name)))
    })
    .await
}

/// Loads a file by its type: plain text, Markdown, HTML (feature `html`) or PDF (feature `pdf`).
///
/// The type is detected by the file extension, then by the first bytes; the default is plain text:
///
/// | type | text | metadata besides `source` and `file_name` |
/// |---|---|---|
/// | plain text | unchanged | |
/// | Markdown | unchanged, without a front matter of lines `key: value` | the keys of the front matter; `title`: from the front matter, else the first heading with one `#` |
/// | HTML | the visible text, with a paragraph per block | `title` |
/// | PDF | one document per page; pages without text are left out | `page`, from 1; `title` |
///
/// A more complex front matter stays in the text. Of the keys that the loaders set, a front matter can set
/// only `title`. At most 32 MiB; takes at most 60 seconds.
///
/// # Errors
///
/// Fails if the file cannot be read, is too large, damaged, encrypted, or not in a supported text encoding,
/// takes too long, or needs a feature that is not enabled.
///
/// # Cancellation
///
/// Same as [`load_text`].
///
/// # Examples
///
/// ```
/// use ai_services::document::{key, load_file};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> ai_services::Result<()> {
/// let path = std::env::temp_dir().join(format!("load-file-{}.md", std::process::id()));
/// # std::fs::write(&path, "# Berries\n\nBananas are some.").unwrap();
/// let documents = load_file(&path).await?;
/// # std::fs::remove_file(&path).unwrap();
/// let title = documents[0].metadata().get(key::TITLE).and_then(|title| title.as_text());
/// assert_eq!(title, Some("Berries"));
/// # Ok(())
/// # }
/// ```
///
/// # Differences from LangChain4j
///
/// One function loads all types. A PDF file becomes one document per page, so that an answer can name the
/// page.
#[doc(alias = "FileSystemDocumentLoader")]
pub async fn load_file(path: impl AsRef<Path>) -> Result<Vec<Document>, LoadError> {
    let path = path.as_ref();
    load(path, source(path), Bounds::default()).await
}

/// Loads a document from memory. The type is detected as by [`load_file`]; the name becomes the `source`.
///
/// The size is not limited; takes at most 60 seconds.
///
/// # Errors
///
/// Fails if the document is damaged, encrypted, too large when decompressed, or not in a supported text
/// encoding, takes too long, or needs a feature that is not enabled.
///
/// # Cancellation
///
/// The blocking thread may continue to run; its result is dropped.
///
/// # Examples
///
/// ```
/// use ai_services::document::load_bytes;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> ai_services::Result<()> {
/// let documents = load_bytes("notes.txt", b"\xFF\xFEH\0i\0".to_vec()).await?;
/// assert_eq!(documents[0].text(), "Hi");
/// # Ok(())
/// # }
/// ```
pub async fn load_bytes(
    name: impl Into<String>,
    bytes: Vec<u8>,
) -> Result<Vec<Document>, LoadError> {
    let name = name.into();
    in_thread(&name.clone(), Bounds::default(), move |deadline| parse(&name, bytes, deadline)).await
}

/// Loads a file under a name.
async fn load(path: &Path, name: String, bounds: Bounds) -> Result<Vec<Document>, LoadError> {
    let path = path.to_owned();
    in_thread(&name.clone(), bounds, move |deadline| {
        let bytes = read(&path, &name, bounds.bytes)?;
        parse(&name, bytes, deadline)
    })
    .await
}

/// Runs a parser on a blocking thread with a time limit; a panic becomes a [`LoadError`].
async fn in_thread<T: Send + 'static>(
    name: &str,
    bounds: Bounds,
    work: impl FnOnce(Deadline) -> Result<T, LoadError> + Send + 'static,
) -> Result<T, LoadError> {
    let deadline = Deadline { at: Instant::now().checked_add(bounds.time), time: bounds.time };
    match timeout(bounds.time, spawn_blocking(move || work(deadline))).await {
        Ok(Ok(loaded)) => loaded,
        Ok(Err(error)) => {
            let reason = "made the parser panic; it is probably damaged";
            Err(LoadError::new(name, LoadErrorKind::Damaged, reason).with_cause(error))
        }
        Err(_) => Err(deadline.passed(name)),
    }
}

impl Deadline {
    /// Fails once the deadline has passed. A parser that calls this regularly stops soon after.
    fn check(self, name: &str) -> Result<(), LoadError> {
        match self.at {
            Some(at) if Instant::now() >= at => Err(self.passed(name)),
            _ => Ok(()),
        }
    }

    fn passed(self, name: &str) -> LoadError {
        let reason = format!("took longer than {:?}; it may be damaged", self.time);
        LoadError::new(name, LoadErrorKind::Timeout, reason)
    }
}

/// Reads all bytes of a file.
fn read(path: &Path, name: &str, max: u64) -> Result<Vec<u8>, LoadError> {
    let fail = |error| LoadError::read(name, error);
    // Opening a pipe would block until there is a writer.
    if !fs::metadata(path).map_err(fail)?.is_file() {
        return Err(LoadError::new(name, LoadErrorKind::Read, "is not a regular file"));
    }
    let mut bytes = Vec::new();
    // The file may grow while it is read.
    let file = File::open(path).map_err(fail)?;
    file.take(max.saturating_add(1)).read_to_end(&mut bytes).map_err(fail)?;
    if bytes.len() as u64 > max {
        let reason = format!("has more than {max} bytes; raise the limit or split it");
        return Err(LoadError::new(name, LoadErrorKind::TooLarge, reason));
    }
    Ok(bytes)
}

fn parse(name: &str, bytes: Vec<u8>, deadline: Deadline) -> Result<Vec<Document>, LoadError> {
    deadline.check(name)?;
    let metadata = metadata(name);
    let text = |bytes| decode::decode(name, bytes);
    match Format::of(name, &bytes) {
        Format::Text => Ok(vec![Document::new(text(bytes)?, metadata)]),
        Format::Markdown => {
            let (text, metadata) = markdown::read(text(bytes)?, metadata);
            Ok(vec![Document::new(text, metadata)])
        }
        #[cfg(feature = "html")]
        Format::Html => {
            let check = || deadline.check(name);
            let (text, metadata) = html::read(&text(bytes)?, metadata, check)?;
            Ok(vec![Document::new(text, metadata)])
        }
        #[cfg(feature = "pdf")]
        Format::Pdf => pdf::read(name, &bytes, &metadata, deadline),
        #[allow(unreachable_patterns, reason = "only with all features")]
        other => {
            let feature = other.feature();
            let reason = format!("is {feature}: enable the feature `{feature}` to read it");
            Err(LoadError::new(name, LoadErrorKind::Unsupported, reason))
        }
    }
}

fn metadata(name: &str) -> Metadata {
    let file_name = name.rsplit('/').next().unwrap_or(name);
    Metadata::new().with(key::SOURCE, name).with(key::FILE_NAME, file_name)
}

/// Returns a path with `/` as the separator.
fn source(path: &Path) -> String {
    let text = path.to_string_lossy();
    if std::path::MAIN_SEPARATOR == '/' {
        text.into_owned()
    } else {
        text.replace(std::path::MAIN_SEPARATOR, "/")
    }
}
