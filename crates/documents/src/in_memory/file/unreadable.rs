//! The error for a file that cannot be loaded.

use ai_services_core::{Error, ErrorKind};
use std::fmt;
use std::path::PathBuf;

/// An embeddings file that cannot be loaded: the [detail](Error::detail) of an error of kind
/// [`ErrorKind::Store`].
///
/// # Examples
///
/// ```
/// use ai_services::embedding::{
///     InMemoryEmbeddingStore, UnreadableEmbeddings, UnreadableEmbeddingsProblem,
/// };
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// # let path = std::env::temp_dir().join(format!("no-embeddings-{}", std::process::id()));
/// std::fs::write(&path, "Dear diary,")?;
/// let error = InMemoryEmbeddingStore::load(&path).await.unwrap_err();
/// let file = error.detail::<UnreadableEmbeddings>().unwrap();
/// assert_eq!(file.problem, UnreadableEmbeddingsProblem::UnknownFormat);
/// # std::fs::remove_file(path)
/// # }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct UnreadableEmbeddings {
    /// Path of the file.
    pub path: PathBuf,
    /// Reason why the file cannot be loaded.
    pub problem: UnreadableEmbeddingsProblem,
}

/// Reason why an embeddings file cannot be loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UnreadableEmbeddingsProblem {
    /// The file is not an embeddings file.
    UnknownFormat,
    /// The file is damaged, for this reason.
    Corrupt(String),
    /// The file was written by a newer version of this crate.
    Newer {
        /// Format version of the file.
        found: u32,
        /// Newest format version that this build reads.
        supported: u32,
    },
}

impl fmt::Display for UnreadableEmbeddings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the file `{}` ", self.path.display())?;
        match &self.problem {
            UnreadableEmbeddingsProblem::UnknownFormat => f.write_str("is not an embeddings file"),
            UnreadableEmbeddingsProblem::Corrupt(reason) => {
                write!(f, "is damaged: {reason}; rebuild it from the documents")
            }
            UnreadableEmbeddingsProblem::Newer { found, supported } => write!(
                f,
                "has format version {found}; this build reads up to {supported}, update ai-services"
            ),
        }
    }
}

impl std::error::Error for UnreadableEmbeddings {}

impl From<UnreadableEmbeddings> for Error {
    fn from(file: UnreadableEmbeddings) -> Self {
        Self::new(ErrorKind::Store, file.to_string()).with_source(file)
    }
}
