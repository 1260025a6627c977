//! The file of a recording.

use super::format::{Header, corrupt};
use ai_services_core::{Error, ErrorKind, Result};
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::task::spawn_blocking;

/// What a recording does with a cassette that is there already.
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
    /// New exchanges are added.
    #[default]
    Append,
    /// It is emptied first.
    Replace,
    /// The first call fails.
    Refuse,
}

/// A file that grows line by line. Opened when the first line is written.
pub(super) struct Tape(Arc<Shared>);

struct Shared {
    path: PathBuf,
    existing: ExistingCassette,
    /// The header without secrets, and its line end.
    header: String,
    state: Mutex<State>,
}

enum State {
    New,
    Open(File),
    /// A line was not written to its end.
    Broken,
}

impl Tape {
    pub(super) fn new(path: PathBuf, existing: ExistingCassette, header: String) -> Self {
        Self(Arc::new(Shared { path, existing, header, state: Mutex::new(State::New) }))
    }

    /// Appends a line. It is written as a whole, even if the future is dropped.
    pub(super) async fn append(&self, line: String) -> Result<()> {
        let tape = Arc::clone(&self.0);
        let written = spawn_blocking(move || tape.append(&line)).await;
        written.unwrap_or_else(|stopped| Err(self.0.failed(io::Error::other(stopped))))
    }
}

impl Shared {
    fn append(&self, line: &str) -> Result<()> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut file = match std::mem::replace(&mut *state, State::Broken) {
            State::Open(file) => file,
            State::Broken => return Err(self.failed(io::Error::other("an earlier write failed"))),
            State::New => match self.open() {
                Ok(file) => file,
                Err(error) => {
                    *state = State::New;
                    return Err(error);
                }
            },
        };
        let written = file.write_all(line.as_bytes()).and_then(|()| file.flush());
        written.map_err(|source| self.failed(source))?;
        *state = State::Open(file);
        Ok(())
    }

    fn open(&self) -> Result<File> {
        let mut options = OpenOptions::new();
        match self.existing {
            ExistingCassette::Append => options.read(true).append(true).create(true),
            ExistingCassette::Replace => options.write(true).truncate(true).create(true),
            ExistingCassette::Refuse => options.write(true).create_new(true),
        };
        // Who may not read the requests may not read their recording.
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&self.path).map_err(|source| self.failed(source))?;
        let length = file.metadata().map_err(|source| self.failed(source))?.len();
        if length > 0 {
            self.check(&mut file)?;
        } else {
            file.write_all(self.header.as_bytes()).map_err(|source| self.failed(source))?;
        }
        Ok(file)
    }

    /// Only a cassette is added to, and only one that is whole.
    fn check(&self, file: &mut File) -> Result<()> {
        let mut first = String::new();
        let read = BufReader::new(&mut *file).read_line(&mut first);
        read.map_err(|source| self.failed(source))?;
        Header::read(&first)?;
        let mut last = [0];
        let end = file.seek(SeekFrom::End(-1)).and_then(|_| file.read_exact(&mut last));
        end.map_err(|source| self.failed(source))?;
        match last {
            [b'\n'] => Ok(()),
            _ => {
                let whole = std::fs::read(&self.path).map_err(|source| self.failed(source))?;
                let line = whole.iter().filter(|byte| **byte == b'\n').count() + 1;
                Err(corrupt(line, "it ends in its middle", None))
            }
        }
    }

    fn failed(&self, source: io::Error) -> Error {
        failed("written", &self.path, source)
    }
}

/// The error of a cassette that cannot be read or written.
pub(super) fn failed(what: &str, path: &Path, source: io::Error) -> Error {
    let path = path.display();
    Error::new(
        ErrorKind::Configuration,
        format!("the cassette `{path}` cannot be {what}: {source}"),
    )
    .with_source(source)
}
