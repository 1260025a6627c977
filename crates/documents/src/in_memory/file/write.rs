//! Serialization of entries.

use super::{BOOLEAN, FLOAT, INTEGER, MAGIC, TEXT, VERSION, checksum};
use crate::in_memory::block::{Block, Row};
use crate::in_memory::table::Snapshot;
use ai_services_core::document::MetadataValue;
use std::ffi::OsString;
use std::fs::{self, File};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// Replaces a file atomically, after the new file was synced to disk.
pub(super) fn replace(path: &Path, snapshot: &Snapshot, is_dropped: &AtomicBool) -> io::Result<()> {
    let unfinished = TemporaryFile(temporary_path(path)?);
    let mut file = create(&unfinished.0)?;
    if let Ok(old) = fs::metadata(path) {
        file.set_permissions(old.permissions())?;
    }
    snapshot_to(&mut file, snapshot, is_dropped)?;
    file.sync_all()?;
    drop(file);
    fs::rename(&unfinished.0, path)?;
    sync_directory(path)
}

/// Creates a file that only its owner can read and write.
fn create(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Returns a unique file name in the same directory.
fn temporary_path(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().ok_or_else(|| {
        io::Error::new(io::ErrorKind::InvalidInput, "the path does not end in a file name")
    })?;
    let mut unfinished = OsString::from(".");
    unfinished.push(name);
    unfinished.push(format!(".{:016x}.tmp", RandomState::new().hash_one(std::process::id())));
    Ok(path.with_file_name(unfinished))
}

/// A file that is removed on drop unless it was renamed.
struct TemporaryFile(PathBuf);

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        // Already renamed after success; a file that cannot be removed is harmless.
        let _ = fs::remove_file(&self.0);
    }
}

/// Syncs the directory, which makes the rename durable.
#[cfg(unix)]
fn sync_directory(path: &Path) -> io::Result<()> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    File::open(directory.unwrap_or(Path::new(".")))?.sync_all()
}

/// Does nothing: a directory cannot be opened on other platforms.
#[cfg(not(unix))]
fn sync_directory(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Writes all entries.
pub(super) fn snapshot_to(
    to: &mut impl Write,
    snapshot: &Snapshot,
    is_dropped: &AtomicBool,
) -> io::Result<()> {
    let mut header = Vec::from(MAGIC);
    header.extend(VERSION.to_le_bytes());
    // A vector has at most 65,536 numbers.
    header.extend((snapshot.dimensions().unwrap_or_default() as u32).to_le_bytes());
    header.extend((snapshot.len() as u64).to_le_bytes());
    header.extend(checksum(0, &header).to_le_bytes());
    to.write_all(&header)?;
    let mut payload = Vec::new();
    for (part, block) in (1..).zip(snapshot.blocks()) {
        if is_dropped.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        payload.clear();
        encode(block, &mut payload);
        to.write_all(&(payload.len() as u64).to_le_bytes())?;
        to.write_all(&payload)?;
        to.write_all(&checksum(part, &payload).to_le_bytes())?;
    }
    to.flush()
}

fn encode(block: &Block, to: &mut Vec<u8>) {
    length(block.rows().len(), to);
    for Row { id, segment } in block.rows() {
        text(id, to);
        text(segment.text(), to);
        length(segment.metadata().len(), to);
        for (key, own) in segment.metadata().iter() {
            text(key, to);
            value(own, to);
        }
    }
    let start = to.len();
    to.resize(start + size_of_val(block.numbers()), 0);
    let (places, _) = to.get_mut(start..).unwrap_or_default().as_chunks_mut::<4>();
    for (place, number) in places.iter_mut().zip(block.numbers()) {
        *place = number.to_le_bytes();
    }
}

fn value(value: &MetadataValue, to: &mut Vec<u8>) {
    match value {
        MetadataValue::Text(own) => {
            to.push(TEXT);
            text(own, to);
        }
        MetadataValue::Integer(number) => {
            to.push(INTEGER);
            to.extend(number.to_le_bytes());
        }
        MetadataValue::Float(number) => {
            to.push(FLOAT);
            to.extend(number.to_le_bytes());
        }
        MetadataValue::Boolean(value) => to.extend([BOOLEAN, u8::from(*value)]),
    }
}

fn text(text: &str, to: &mut Vec<u8>) {
    length(text.len(), to);
    to.extend_from_slice(text.as_bytes());
}

fn length(length: usize, to: &mut Vec<u8>) {
    to.extend((length as u64).to_le_bytes());
}
