//! Deserialization of entries.

use super::{BOOLEAN, FLOAT, INTEGER, MAGIC, TEXT, VERSION, checksum, not_read};
use super::{UnreadableEmbeddings, UnreadableEmbeddingsProblem};
use crate::in_memory::block::Row;
use crate::in_memory::table::{Table, too_many};
use ai_services_core::Error;
use ai_services_core::document::{Metadata, MetadataValue, TextSegment};
use ai_services_core::embedding::EmbeddingEntry;
use std::io::{self, Read};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Maximum number of bytes that are allocated before they were read.
const TRUSTED: usize = 4 * 1024 * 1024;

/// The reason for which a file cannot be loaded.
#[derive(Debug)]
pub(super) enum LoadFailure {
    Io(io::Error),
    Problem(UnreadableEmbeddingsProblem),
    TooMany(usize),
}

impl LoadFailure {
    fn corrupt(reason: impl Into<String>) -> Self {
        Self::Problem(UnreadableEmbeddingsProblem::Corrupt(reason.into()))
    }

    pub(super) fn into_error(self, path: &Path) -> Error {
        match self {
            Self::Io(error) => not_read(path, error),
            Self::Problem(problem) => {
                UnreadableEmbeddings { path: path.to_owned(), problem }.into()
            }
            Self::TooMany(max) => too_many(max),
        }
    }
}

impl From<io::Error> for LoadFailure {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Reads all entries.
pub(super) fn table(
    mut from: impl Read,
    max_entries: usize,
    is_dropped: &AtomicBool,
) -> Result<Table, LoadFailure> {
    let (dimensions, entries) = header(&mut from)?;
    if entries > max_entries as u64 {
        return Err(LoadFailure::TooMany(max_entries));
    }
    let mut table = Table::default();
    let mut part = 0;
    while (table.len() as u64) < entries {
        if is_dropped.load(Ordering::Relaxed) {
            return Err(io::Error::from(io::ErrorKind::Interrupted).into());
        }
        part += 1;
        let payload = payload(&mut from, part)?;
        let before = table.len();
        decode(&mut Bytes(&payload), dimensions, &mut table)
            .ok_or_else(|| LoadFailure::corrupt(format!("block {part} is malformed")))?;
        if table.len() == before || table.len() as u64 > entries {
            let found = table.len();
            return Err(LoadFailure::corrupt(format!("expected {entries} entries, found {found}")));
        }
    }
    if bytes(&mut from, 1)?.is_empty() {
        return Ok(table);
    }
    Err(LoadFailure::corrupt("there are bytes after the last entry"))
}

/// Reads the header: the number of dimensions and the number of entries.
fn header(from: &mut impl Read) -> Result<(usize, u64), LoadFailure> {
    let header = bytes(from, 32)?;
    if !header.starts_with(&MAGIC) {
        return Err(LoadFailure::Problem(UnreadableEmbeddingsProblem::UnknownFormat));
    }
    let mut fields = Bytes(header.get(MAGIC.len()..).unwrap_or_default());
    let truncated = || LoadFailure::corrupt("the header is truncated");
    let found = u32::from_le_bytes(fields.array().ok_or_else(truncated)?);
    if found > VERSION {
        let supported = VERSION;
        return Err(LoadFailure::Problem(UnreadableEmbeddingsProblem::Newer { found, supported }));
    }
    let dimensions = u32::from_le_bytes(fields.array().ok_or_else(truncated)?) as usize;
    let entries = u64::from_le_bytes(fields.array().ok_or_else(truncated)?);
    let sum = u64::from_le_bytes(fields.array().ok_or_else(truncated)?);
    let summed = header.get(..24).unwrap_or_default();
    let is_possible = (dimensions == 0) == (entries == 0)
        && dimensions <= EmbeddingEntry::MAX_DIMENSIONS
        && found == VERSION;
    if sum != checksum(0, summed) || !is_possible {
        return Err(LoadFailure::corrupt("the checksum of the header does not match"));
    }
    Ok((dimensions, entries))
}

/// Reads and verifies the payload of a block.
fn payload(from: &mut impl Read, part: u64) -> Result<Vec<u8>, LoadFailure> {
    let truncated = || LoadFailure::corrupt(format!("block {part} is truncated"));
    let number = |bytes: Vec<u8>| Bytes(&bytes).array().map(u64::from_le_bytes);
    let length = number(bytes(from, 8)?).ok_or_else(truncated)?;
    let payload = bytes(from, length)?;
    if payload.len() as u64 != length {
        return Err(truncated());
    }
    let sum = number(bytes(from, 8)?).ok_or_else(truncated)?;
    if sum == checksum(part, &payload) {
        return Ok(payload);
    }
    Err(LoadFailure::corrupt(format!("the checksum of block {part} does not match")))
}

/// Reads this many bytes, or fewer at the end of the file.
fn bytes(from: &mut impl Read, length: u64) -> io::Result<Vec<u8>> {
    let trusted = usize::try_from(length).unwrap_or(TRUSTED).min(TRUSTED);
    let mut bytes = Vec::with_capacity(trusted);
    from.take(length).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Adds the entries of a block to a table. Returns `None` if the bytes are malformed.
fn decode(from: &mut Bytes<'_>, dimensions: usize, table: &mut Table) -> Option<()> {
    let count = from.length()?;
    let mut rows = Vec::new();
    for _ in 0..count {
        let id = from.text()?.into();
        let segment = TextSegment::new(from.text()?);
        rows.push(Row { id, segment: segment.with_metadata(from.metadata()?) });
    }
    let mut vector = vec![0.0; dimensions];
    for row in rows {
        for number in &mut vector {
            *number = f32::from_le_bytes(from.array()?);
        }
        // Sums of finite numbers below 2 are finite.
        let is_new = vector.iter().all(|number| number.abs() < 2.0) && !row.id.is_empty();
        if !is_new || table.put(&vector, row).is_some() {
            return None;
        }
    }
    from.0.is_empty().then_some(())
}

/// A cursor over bytes.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*first)
    }

    fn length(&mut self) -> Option<usize> {
        usize::try_from(u64::from_le_bytes(self.array()?)).ok()
    }

    fn text(&mut self) -> Option<&'a str> {
        let length = self.length()?;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        str::from_utf8(text).ok()
    }

    fn metadata(&mut self) -> Option<Metadata> {
        let count = self.length()?;
        if count > EmbeddingEntry::MAX_KEYS {
            return None;
        }
        (0..count).map(|_| Some((self.text()?, self.value()?))).collect()
    }

    fn value(&mut self) -> Option<MetadataValue> {
        let [kind] = self.array()?;
        Some(match kind {
            TEXT => self.text()?.into(),
            INTEGER => i64::from_le_bytes(self.array()?).into(),
            FLOAT => f64::from_le_bytes(self.array()?).into(),
            BOOLEAN => (self.array()? == [1]).into(),
            _ => return None,
        })
    }
}
