//! The entries in a file.
//!
//! Numbers are little-endian, lengths have eight bytes.
//!
//! | part | consists of |
//! |---|---|
//! | header | [`MAGIC`], version (4 bytes), numbers of a vector (4), entries (8), checksum of these |
//! | block, as often as needed | length of the payload, payload, checksum of its number, length and payload |
//! | payload | how many entries; of each the id, the text, the number of keys, the keys and values; then all vectors |
//! | text | its length, its bytes |
//! | value | its kind (1 byte) and a text, 8 bytes of a number, or 1 byte |

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

/// What every file begins with.
const MAGIC: [u8; 8] = *b"ai-embed";

/// The format that is written, and the newest that is read.
const VERSION: u32 = 1;

const TEXT: u8 = 0;
const INTEGER: u8 = 1;
const FLOAT: u8 = 2;
const BOOLEAN: u8 = 3;

/// Writes the entries to a file beside the old one and puts it in its place.
pub(super) async fn save(snapshot: Snapshot, path: PathBuf) -> Result<()> {
    let caller = Caller::default();
    let is_dropped = Arc::clone(&caller.0);
    let saved = spawn_blocking(move || {
        write::replace(&path, &snapshot, &is_dropped).map_err(|error| {
            let path = path.display();
            failed(format!("the embeddings cannot be saved to `{path}`: {error}"), error)
        })
    });
    saved.await.unwrap_or_else(|stopped| Err(interrupted(stopped)))
}

/// Reads the entries of a file.
pub(super) async fn load(path: PathBuf, max_entries: usize) -> Result<Table> {
    let caller = Caller::default();
    let is_dropped = Arc::clone(&caller.0);
    let loaded = spawn_blocking(move || {
        let file = std::fs::File::open(&path).map_err(|error| not_read(&path, error))?;
        read::table(file, max_entries, &is_dropped).map_err(|fault| fault.into_error(&path))
    });
    loaded.await.unwrap_or_else(|stopped| Err(interrupted(stopped)))
}

/// Tells the thread that works with the file when nobody waits for it any more.
#[derive(Default)]
struct Caller(Arc<AtomicBool>);

impl Drop for Caller {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn not_read(path: &Path, error: io::Error) -> Error {
    failed(format!("the embeddings in `{}` cannot be read: {error}", path.display()), error)
}

fn failed(message: String, error: io::Error) -> Error {
    Error::new(ErrorKind::Store, message).with_source(error)
}

fn interrupted(stopped: tokio::task::JoinError) -> Error {
    let message = "the runtime stopped before the file was done";
    Error::new(ErrorKind::Store, message).with_source(stopped)
}

/// A sum over bytes and the number of their part.
///
/// Each step maps the sum so far, and each word of eight bytes, one to one. So a change within one word
/// always changes the result; of other damage one in 2^64 is missed.
fn checksum(part: u64, bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let mut last = [0; 8];
    for (to, from) in last.iter_mut().zip(rest) {
        *to = *from;
    }
    let ends = [&last, &(bytes.len() as u64).to_le_bytes()];
    words.iter().chain(ends).fold(part, |sum, word| {
        // The multiplier of splitmix64 (Steele, Lea and Flood 2014); any odd one is one to one.
        let mixed = (sum ^ u64::from_le_bytes(*word)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed ^ (mixed >> 31)
    })
}

#[cfg(test)]
mod tests;
