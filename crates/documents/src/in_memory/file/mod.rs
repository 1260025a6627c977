//! File format of saved entries.
//!
//! Numbers are little-endian; lengths take eight bytes.
//!
//! | part | consists of |
//! |---|---|
//! | header | [`MAGIC`], version (4 bytes), dimensions (4), number of entries (8), checksum of these fields |
//! | block, repeated | length of the payload, payload, checksum of block number, length and payload |
//! | payload | number of entries; for each the id, the text, the number of keys, the keys and values; then all vectors |
//! | text | length, bytes |
//! | value | type (1 byte), then a text, a number (8 bytes), or a boolean (1 byte) |

mod read;
mod unreadable;
mod write;

pub use unreadable::{UnreadableEmbeddings, UnreadableEmbeddingsProblem};

use super::table::{Snapshot, Table};
use ai_services_core::{Error, ErrorKind, Result};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::task::spawn_blocking;

/// The first bytes of every file.
const MAGIC: [u8; 8] = *b"ai-embed";

/// Version of the format that is written, and the newest version that is read.
const VERSION: u32 = 1;

const TEXT: u8 = 0;
const INTEGER: u8 = 1;
const FLOAT: u8 = 2;
const BOOLEAN: u8 = 3;

/// Writes the entries to a temporary file in the same directory and renames it to `path`.
pub(super) async fn save(snapshot: Snapshot, path: PathBuf) -> Result<()> {
    let caller = Caller::default();
    let is_dropped = Arc::clone(&caller.0);
    let saved = spawn_blocking(move || {
        write::replace(&path, &snapshot, &is_dropped).map_err(|error| {
            let path = path.display();
            failed(format!("cannot save the embeddings to `{path}`: {error}"), error)
        })
    });
    saved.await.unwrap_or_else(|stopped| Err(interrupted(stopped)))
}

/// Loads the entries of a file.
pub(super) async fn load(path: PathBuf, max_entries: usize) -> Result<Table> {
    let caller = Caller::default();
    let is_dropped = Arc::clone(&caller.0);
    let loaded = spawn_blocking(move || {
        let file = std::fs::File::open(&path).map_err(|error| not_read(&path, error))?;
        read::table(file, max_entries, &is_dropped).map_err(|failure| failure.into_error(&path))
    });
    loaded.await.unwrap_or_else(|stopped| Err(interrupted(stopped)))
}

/// Signals the blocking thread, when dropped, that the caller is gone.
#[derive(Default)]
struct Caller(Arc<AtomicBool>);

impl Drop for Caller {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn not_read(path: &Path, error: io::Error) -> Error {
    failed(format!("cannot read the embeddings in `{}`: {error}", path.display()), error)
}

fn failed(message: String, error: io::Error) -> Error {
    Error::new(ErrorKind::Store, message).with_source(error)
}

fn interrupted(stopped: tokio::task::JoinError) -> Error {
    let message = "the runtime shut down before the file was complete";
    Error::new(ErrorKind::Store, message).with_source(stopped)
}

/// Returns a checksum of a block number and its bytes.
///
/// Each step is a bijection of the previous sum and of each eight-byte word. A change within one word
/// therefore always changes the result; other damage is missed with probability 2^-64.
fn checksum(part: u64, bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let mut last = [0; 8];
    for (to, from) in last.iter_mut().zip(rest) {
        *to = *from;
    }
    let ends = [&last, &(bytes.len() as u64).to_le_bytes()];
    words.iter().chain(ends).fold(part, |sum, word| {
        // The multiplier of splitmix64 (Steele, Lea and Flood 2014); any odd multiplier is a bijection.
        let mixed = (sum ^ u64::from_le_bytes(*word)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed ^ (mixed >> 31)
    })
}

#[cfg(test)]
mod tests;
