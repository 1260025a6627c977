//! Reads files with a limit on their size.

use super::media::too_large;
use crate::error::{Error, ErrorKind, Result};
use std::future;
use std::io;
use std::path::Path;
use std::pin::Pin;
use tokio::fs::File;
use tokio::io::{AsyncRead, ReadBuf};
use tokio::runtime::Handle;

/// The number of bytes read at once.
const CHUNK: usize = 64 << 10;

/// Reads a whole file of at most `max` bytes. Tokio reads on a blocking thread, so a slow disk does
/// not block the task.
pub(super) async fn read(path: &Path, max: usize) -> Result<Vec<u8>> {
    if Handle::try_current().is_err() {
        return Err(Error::configuration("a file can only be read within a Tokio runtime"));
    }
    let metadata = tokio::fs::metadata(path).await.map_err(|error| read_error(path, error))?;
    // Opening a pipe blocks until another process writes to it, and a device may be endless.
    if !metadata.is_file() {
        let message = format!("`{}` is not a file", path.display());
        return Err(Error::new(ErrorKind::Media, message));
    }
    let size = usize::try_from(metadata.len()).unwrap_or(usize::MAX);
    if size > max {
        return Err(too_large(size, max));
    }
    let mut file = File::open(path).await.map_err(|error| read_error(path, error))?;
    // The file may have grown since its size was read.
    read_up_to(&mut file, size, max)
        .await
        .map_err(|error| read_error(path, error))?
        .map_err(|size| too_large(size, max))
}

/// Reads to the end. The inner error is the number of bytes read so far, if it exceeds `max`.
async fn read_up_to(
    file: &mut (impl AsyncRead + Unpin),
    expected: usize,
    max: usize,
) -> io::Result<Result<Vec<u8>, usize>> {
    let mut bytes = Vec::with_capacity(expected);
    let mut chunk = vec![0; CHUNK];
    loop {
        let mut buffer = ReadBuf::new(&mut chunk);
        future::poll_fn(|cx| Pin::new(&mut *file).poll_read(cx, &mut buffer)).await?;
        let read = buffer.filled();
        if read.is_empty() {
            return Ok(Ok(bytes));
        }
        bytes.extend_from_slice(read);
        if bytes.len() > max {
            return Ok(Err(bytes.len()));
        }
    }
}

fn read_error(path: &Path, source: io::Error) -> Error {
    Error::new(ErrorKind::Media, format!("cannot read `{}`: {source}", path.display()))
        .with_source(source)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn growing_file_is_rejected_at_the_limit() {
        let mut endless = tokio::io::repeat(7);
        let size = read_up_to(&mut endless, 10, 100).await.unwrap().unwrap_err();
        assert!(size > 100 && size <= 100 + CHUNK, "{size}");
    }

    #[test]
    fn file_outside_of_a_runtime_is_an_error() {
        let reading = read(Path::new("Cargo.toml"), 1 << 20);
        let error = futures_util::FutureExt::now_or_never(reading).unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Configuration);
    }
}
