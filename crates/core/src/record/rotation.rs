//! Files that are replaced when they have reached a size.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A file of lines, with a bounded number of older files beside it.
pub(super) struct RotatingFile {
    path: PathBuf,
    file: File,
    size: u64,
    max_bytes: u64,
    max_files: usize,
}

impl RotatingFile {
    /// Opens the file, and appends to it if it exists. It is readable by its owner only.
    pub(super) fn open(path: PathBuf, max_bytes: u64, max_files: usize) -> io::Result<Self> {
        let file = open(&path)?;
        let size = file.metadata()?.len();
        Ok(Self { path, file, size, max_bytes, max_files })
    }

    /// Appends a line, in a new file if this one would become too large.
    pub(super) fn append(&mut self, line: &str) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(line.len() + 1);
        bytes.extend_from_slice(line.as_bytes());
        bytes.push(b'\n');
        let length = bytes.len() as u64;
        if self.size > 0 && self.size.saturating_add(length) > self.max_bytes {
            self.rotate()?;
        }
        self.file.write_all(&bytes)?;
        self.size += length;
        Ok(())
    }

    fn rotate(&mut self) -> io::Result<()> {
        for number in (1..self.max_files).rev() {
            let newer = match number {
                1 => self.path.clone(),
                number => numbered(&self.path, number - 1),
            };
            match fs::rename(newer, numbered(&self.path, number)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        if self.max_files == 1 {
            fs::remove_file(&self.path)?;
        }
        self.file = open(&self.path)?;
        self.size = 0;
        Ok(())
    }
}

/// Returns the path of an older file: `turns.jsonl.1` is newer than `turns.jsonl.2`.
fn numbered(path: &Path, number: usize) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{number}"));
    name.into()
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}
