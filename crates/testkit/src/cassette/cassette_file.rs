//! The file of a cassette.

use super::format::{Header, corrupt};
use ai_services_core::{Error, ErrorKind, Result};
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::task::spawn_blocking;

/// Reaction of a recording to an existing cassette.
///
/// # Examples
///
/// ```
/// use ai_services::combinators::{ExistingCassette, RecordingModel};
/// # use ai_services::testing::ScriptedChatModel;
/// # let model = ScriptedChatModel::replies(["Hi."]);
/// let model = RecordingModel::builder(model, "tests/cassettes/support.jsonl")
///     .existing(ExistingCassette::Replace)
///     .build();
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExistingCassette {
    /// Appends new exchanges.
    #[default]
    Append,
    /// Replaces the contents of the file.
    Replace,
    /// Fails the first call.
    Refuse,
}

/// An append-only file of lines, which is opened when the first line is written.
pub(super) struct CassetteFile(Arc<SharedFile>);

struct SharedFile {
    path: PathBuf,
    existing: ExistingCassette,
    /// Redacted header line, with its line end.
    header: String,
    state: Mutex<FileState>,
}

enum FileState {
    New,
    Open(File),
    /// A write failed, and the last line may be incomplete.
    Broken,
}

impl CassetteFile {
    pub(super) fn new(path: PathBuf, existing: ExistingCassette, header: String) -> Self {
        Self(Arc::new(SharedFile { path, existing, header, state: Mutex::new(FileState::New) }))
    }

    /// Appends a line. The whole line is written even if the future is dropped.
    pub(super) async fn append(&self, line: String) -> Result<()> {
        let file = Arc::clone(&self.0);
        let written = spawn_blocking(move || file.append(&line)).await;
        written.unwrap_or_else(|stopped| Err(self.0.io_error(io::Error::other(stopped))))
    }
}

impl SharedFile {
    fn append(&self, line: &str) -> Result<()> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut file = match std::mem::replace(&mut *state, FileState::Broken) {
            FileState::Open(file) => file,
            FileState::Broken => {
                return Err(self.io_error(io::Error::other("an earlier write failed")));
            }
            FileState::New => match self.open() {
                Ok(file) => file,
                Err(error) => {
                    *state = FileState::New;
                    return Err(error);
                }
            },
        };
        let written = file.write_all(line.as_bytes()).and_then(|()| file.flush());
        written.map_err(|source| self.io_error(source))?;
        *state = FileState::Open(file);
        Ok(())
    }

    fn open(&self) -> Result<File> {
        let mut options = OpenOptions::new();
        match self.existing {
            ExistingCassette::Append => options.read(true).append(true).create(true),
            ExistingCassette::Replace => options.write(true).truncate(true).create(true),
            ExistingCassette::Refuse => options.write(true).create_new(true),
        };
        // The file is readable only by its owner, because it contains requests.
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&self.path).map_err(|source| self.io_error(source))?;
        let length = file.metadata().map_err(|source| self.io_error(source))?.len();
        if length > 0 {
            self.check(&mut file)?;
        } else {
            file.write_all(self.header.as_bytes()).map_err(|source| self.io_error(source))?;
        }
        Ok(file)
    }

    /// Fails unless the existing file is a complete cassette.
    fn check(&self, file: &mut File) -> Result<()> {
        let mut first = String::new();
        let read = BufReader::new(&mut *file).read_line(&mut first);
        read.map_err(|source| self.io_error(source))?;
        Header::read(&first)?;
        let mut last_byte = [0];
        let end = file.seek(SeekFrom::End(-1)).and_then(|_| file.read_exact(&mut last_byte));
        end.map_err(|source| self.io_error(source))?;
        if last_byte == [b'\n'] {
            return Ok(());
        }
        let contents = std::fs::read(&self.path).map_err(|source| self.io_error(source))?;
        let line = contents.iter().filter(|byte| **byte == b'\n').count() + 1;
        Err(corrupt(line, "the line is incomplete", None))
    }

    fn io_error(&self, source: io::Error) -> Error {
        io_error("written", &self.path, source)
    }
}

/// Creates the error of a cassette file that cannot be read or written.
pub(super) fn io_error(operation: &str, path: &Path, source: io::Error) -> Error {
    let path = path.display();
    Error::new(
        ErrorKind::Configuration,
        format!("the cassette `{path}` cannot be {operation}: {source}"),
    )
    .with_source(source)
}
