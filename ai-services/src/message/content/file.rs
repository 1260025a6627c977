//! Reading a file without trusting its size.

use super::media::too_large;
use crate::error::{Error, ErrorKind, Result};
use std::future;
use std::io;
use std::path::Path;
use std::pin::Pin;
use tokio::fs::File;
use tokio::io::{AsyncRead, ReadBuf};
use tokio::runtime::Handle;

/// How much is read at once.
const CHUNK: usize = 64 << 10;

/// A whole file, if it has at most `max` bytes. Tokio reads on threads of its own, so that a slow disk
/// keeps no task waiting.
pub(super) async fn read(path: &Path, max: usize) -> Result<Vec<u8>> {
    if Handle::try_current().is_err() {
        return Err(Error::configuration("a file can only be read within a Tokio runtime"));
    }
    let metadata = tokio::fs::metadata(path).await.map_err(|error| unreadable(path, error))?;
    // Opening a pipe waits for somebody to write; a device never ends.
    if !metadata.is_file() {
        let message = format!("`{}` is not a file", path.display());
        return Err(Error::new(ErrorKind::Media, message));
    }
    let size = usize::try_from(metadata.len()).unwrap_or(usize::MAX);
    if size > max {
        return Err(too_large(size, max));
    }
    let mut file = File::open(path).await.map_err(|error| unreadable(path, error))?;
    // The file may have grown since.
    read_up_to(&mut file, size, max)
        .await
        .map_err(|error| unreadable(path, error))?
        .map_err(|size| too_large(size, max))
}

/// Reads to the end, or says how much there was when that was too much.
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

fn unreadable(path: &Path, source: io::Error) -> Error {
    Error::new(ErrorKind::Media, format!("cannot read `{}`: {source}", path.display()))
        .with_source(source)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn file_that_grows_while_it_is_read_is_cut_off() {
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
