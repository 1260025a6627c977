//! Entries as bytes.

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

/// Puts a file with the entries in the place of another, once it is safe on the disk.
pub(super) fn replace(path: &Path, snapshot: &Snapshot, is_dropped: &AtomicBool) -> io::Result<()> {
    let unfinished = Unfinished(beside(path)?);
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

/// Creates a file that only its owner can read.
fn create(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// A name in the same directory that nobody else uses.
fn beside(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().ok_or_else(|| {
        io::Error::new(io::ErrorKind::InvalidInput, "the path does not end in the name of a file")
    })?;
    let mut unfinished = OsString::from(".");
    unfinished.push(name);
    unfinished.push(format!(".{:016x}.tmp", RandomState::new().hash_one(std::process::id())));
    Ok(path.with_file_name(unfinished))
}

/// A file that is removed unless it was renamed.
struct Unfinished(PathBuf);

impl Drop for Unfinished {
    fn drop(&mut self) {
        // Not there any more if all went well; if it cannot be removed, it harms nobody.
        let _ = fs::remove_file(&self.0);
    }
}

/// A new name is safe when its directory is.
#[cfg(unix)]
fn sync_directory(path: &Path) -> io::Result<()> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    File::open(directory.unwrap_or(Path::new(".")))?.sync_all()
}

/// Elsewhere a directory cannot be opened.
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
