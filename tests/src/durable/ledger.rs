//! The outside world of real processes: a file.

use super::outside::{Line, Outside};
use ai_services::async_trait;
use anyhow::Context;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Size of a line in bytes, with the spaces that fill it. It divides the size of a page, so that a process that is
/// killed while it writes leaves the line complete or absent.
const SIZE: usize = 128;

/// An outside world in a file, which several processes may open.
#[derive(Debug)]
pub struct Ledger {
    file: Arc<File>,
    path: PathBuf,
    process: u32,
}

impl Ledger {
    /// Opens or creates the file for a process, which all its lines name.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be opened.
    pub fn open(path: &Path, process: u32) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        Ok(Self { file: Arc::new(file), path: path.to_owned(), process })
    }

    async fn append(&self, line: &Line) -> io::Result<()> {
        let text = format!("{line:<width$}\n", line = line.to_string(), width = SIZE - 1);
        if text.len() != SIZE {
            return Err(io::Error::other(format!("the line `{line}` is too long")));
        }
        let file = Arc::clone(&self.file);
        let write = move || {
            (&*file).write_all(text.as_bytes())?;
            file.sync_data()
        };
        tokio::task::spawn_blocking(write).await?
    }
}

/// Returns all lines of a file, oldest first. A file that does not exist has none.
///
/// # Errors
///
/// Fails if the file is not readable, or if a line is incomplete.
pub fn read(path: &Path) -> anyhow::Result<Vec<Line>> {
    let text = match std::fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        text => text.with_context(|| format!("{} cannot be read", path.display()))?,
    };
    anyhow::ensure!(text.len() % SIZE == 0, "the last line of {} is incomplete", path.display());
    text.lines().map(|line| line.trim_end().parse().map_err(anyhow::Error::msg)).collect()
}

#[async_trait]
impl Outside for Ledger {
    async fn write(&self, line: Line) {
        // A tool that could not take effect would report a result nevertheless.
        if let Err(error) = self.append(&line.by(self.process)).await {
            let _ = writeln!(io::stderr(), "the ledger cannot be written: {error}");
            std::process::abort();
        }
    }

    async fn lines(&self, order: &str) -> Vec<Line> {
        match read(&self.path) {
            Ok(lines) => lines.into_iter().filter(|line| line.order == order).collect(),
            Err(error) => {
                let _ = writeln!(io::stderr(), "the ledger cannot be read: {error}");
                std::process::abort();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::outside::Happened;
    use super::*;

    #[tokio::test]
    async fn lines_of_all_processes_are_read_in_their_order() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("ledger");
        let (one, two) = (Ledger::open(&path, 1).unwrap(), Ledger::open(&path, 2).unwrap());
        one.write(Line::new("a", Happened::Asked, "1")).await;
        two.write(Line::new("b", Happened::Mailed, "key")).await;
        one.write(Line::new("a", Happened::Charged, "key")).await;
        let expected = [
            Line::new("a", Happened::Asked, "1").by(1),
            Line::new("b", Happened::Mailed, "key").by(2),
            Line::new("a", Happened::Charged, "key").by(1),
        ];
        assert_eq!(read(&path).unwrap(), expected);
        assert_eq!(two.lines("b").await, expected[1..2]);
    }

    #[tokio::test]
    async fn incomplete_line_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("ledger");
        assert!(read(&path).unwrap().is_empty());
        Ledger::open(&path, 1).unwrap().write(Line::new("a", Happened::Asked, "1")).await;
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, &text[..100]).unwrap();
        assert!(read(&path).unwrap_err().to_string().contains("incomplete"));
    }
}
