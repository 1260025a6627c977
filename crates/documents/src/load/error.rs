//! The error of a document that cannot be loaded.

use ai_services_core::{BoxError, Error, ErrorKind};
use std::fmt;

/// The error of a document that cannot be loaded.
///
/// The message names the document. Converts into an [`Error`] of kind [`ErrorKind::Media`].
///
/// # Examples
///
/// ```
/// use ai_services::document::{LoadErrorKind, load_bytes};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let error = load_bytes("notes.txt", b"caf\xe9".to_vec()).await.unwrap_err();
/// assert_eq!(error.kind(), LoadErrorKind::Encoding);
/// assert_eq!(
///     error.to_string(),
///     "`notes.txt` is not UTF-8: invalid sequence at byte 3; convert it to UTF-8",
/// );
/// # }
/// ```
pub struct LoadError(Box<Inner>);

struct Inner {
    name: Box<str>,
    kind: LoadErrorKind,
    reason: Box<str>,
    cause: Option<BoxError>,
}

/// Reason why a document cannot be loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LoadErrorKind {
    /// A file or a folder could not be read.
    Read,
    /// The document exceeds a limit, for example the maximum file size.
    TooLarge,
    /// The file is not text in a supported encoding.
    Encoding,
    /// Files of this type are not supported, or need a feature that is not enabled.
    Unsupported,
    /// The document is encrypted.
    Encrypted,
    /// The document is damaged.
    Damaged,
    /// Loading exceeded the time limit.
    Timeout,
}

impl LoadError {
    /// Creates an error, for custom loaders.
    ///
    /// `name` is the value that the metadata `source` would have had. The message is the name followed by the
    /// reason: "is locked by another program; close it". A name that ends with `/` stands for all documents
    /// in this folder, an empty name for all documents.
    #[must_use]
    pub fn new(
        name: impl Into<Box<str>>,
        kind: LoadErrorKind,
        reason: impl Into<Box<str>>,
    ) -> Self {
        Self(Box::new(Inner { name: name.into(), kind, reason: reason.into(), cause: None }))
    }

    /// Sets the cause of the error.
    #[must_use]
    pub fn with_cause(mut self, cause: impl Into<BoxError>) -> Self {
        self.0.cause = Some(cause.into());
        self
    }

    /// Returns the reason why the document cannot be loaded.
    #[must_use]
    pub fn kind(&self) -> LoadErrorKind {
        self.0.kind
    }

    /// Returns the name of the document: the value that its metadata `source` would have had. The name of a
    /// folder ends with `/`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Returns whether this source is the document, or is in the folder, that cannot be read. A hidden source
    /// may exist although it was not loaded.
    #[must_use]
    pub fn covers(&self, source: &str) -> bool {
        let name = self.name();
        name == source || ((name.is_empty() || name.ends_with('/')) && source.starts_with(name))
    }

    /// A file or a folder that could not be read.
    pub(super) fn read(name: &str, error: std::io::Error) -> Self {
        let reason = format!("cannot be read: {error}");
        Self::new(name, LoadErrorKind::Read, reason).with_cause(error)
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            "" => write!(f, "the root {}", self.0.reason),
            name => write!(f, "`{name}` {}", self.0.reason),
        }
    }
}

impl fmt::Debug for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { name, kind, reason, cause } = &*self.0;
        f.debug_struct("LoadError")
            .field("name", name)
            .field("kind", kind)
            .field("reason", reason)
            .field("cause", cause)
            .finish()
    }
}

impl std::error::Error for LoadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.cause.as_deref().map(|cause| cause as _)
    }
}

impl From<LoadError> for Error {
    fn from(error: LoadError) -> Self {
        Self::new(ErrorKind::Media, error.to_string()).with_source(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folder_hides_its_documents() {
        let error = |name: &str| LoadError::new(name, LoadErrorKind::Read, "is locked");
        assert!(error("a/b.md").covers("a/b.md") && !error("a/b.md").covers("a/b.md.txt"));
        assert!(error("a/").covers("a/b.md") && !error("a/").covers("ab.md"));
        assert!(error("").covers("anything"));
    }
}
