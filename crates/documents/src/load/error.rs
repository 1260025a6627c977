//! Why a document cannot be loaded.

use ai_services_core::{BoxError, Error, ErrorKind};
use std::fmt;

/// A document that cannot be loaded, and why.
///
/// The text names the document. As an [`Error`] it has the kind [`ErrorKind::Media`].
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
///     "`notes.txt` is not UTF-8: byte 3 begins no character; convert it to UTF-8",
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

/// What keeps a document from being loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LoadErrorKind {
    /// A file or a folder could not be read.
    Read,
    /// The file is larger than allowed.
    TooLarge,
    /// The file is not text in an encoding that is known.
    Encoding,
    /// Files of this type cannot be read, or only with a feature that is not enabled.
    Unsupported,
    /// The document is encrypted.
    Encrypted,
    /// The document is damaged.
    Damaged,
    /// The document took too long.
    Timeout,
}

impl LoadError {
    /// A document of this name cannot be loaded; for loaders of your own.
    ///
    /// The name is what the metadata `source` would have been. The reason goes on after the name: "is
    /// locked by another program; close it". A name that ends with `/` is a folder, whose documents are
    /// all out of reach; so is every document if the name is empty.
    #[must_use]
    pub fn new(
        name: impl Into<Box<str>>,
        kind: LoadErrorKind,
        reason: impl Into<Box<str>>,
    ) -> Self {
        Self(Box::new(Inner { name: name.into(), kind, reason: reason.into(), cause: None }))
    }

    /// Keeps what caused the error.
    #[must_use]
    pub fn with_cause(mut self, cause: impl Into<BoxError>) -> Self {
        self.0.cause = Some(cause.into());
        self
    }

    /// What keeps it from being loaded.
    #[must_use]
    pub fn kind(&self) -> LoadErrorKind {
        self.0.kind
    }

    /// Which document: what its metadata `source` would have been; a folder ends with `/`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Whether this document is the one, or is in the folder, that cannot be read. So it may be there,
    /// though it was not loaded.
    #[must_use]
    pub fn hides(&self, source: &str) -> bool {
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
    fn folder_hides_what_is_in_it() {
        let error = |name: &str| LoadError::new(name, LoadErrorKind::Read, "is locked");
        assert!(error("a/b.md").hides("a/b.md") && !error("a/b.md").hides("a/b.md.txt"));
        assert!(error("a/").hides("a/b.md") && !error("a/").hides("ab.md"));
        assert!(error("").hides("anything"));
    }
}
