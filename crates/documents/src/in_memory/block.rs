//! Contiguous blocks of entries.

use super::word_index::WordIndex;
use ai_services_core::document::TextSegment;
use std::sync::{Arc, OnceLock};

/// Vector components per block: one megabyte. A search yields to other tasks after each block, about every
/// 0.1 milliseconds; a write copies a block that a search is reading.
const NUMBERS: usize = if cfg!(test) { 64 } else { 256 * 1024 };

/// Maximum number of entries in a block. The word index of a block is rebuilt when one of its entries
/// changes.
const MAX_ROWS: usize = 1024;

/// An entry without its vector. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) id: Arc<str>,
    pub(super) segment: TextSegment,
}

/// A group of entries with their vectors stored contiguously.
#[derive(Debug)]
pub(super) struct Block {
    dimensions: usize,
    vectors: Vec<f32>,
    rows: Vec<Row>,
    words: OnceLock<WordIndex>,
}

impl Block {
    pub(super) fn new(dimensions: usize) -> Self {
        Self { dimensions, vectors: Vec::new(), rows: Vec::new(), words: OnceLock::new() }
    }

    /// Returns the number of entries that fill a block at this number of dimensions.
    pub(super) fn capacity(dimensions: usize) -> usize {
        (NUMBERS / dimensions.max(1)).clamp(1, MAX_ROWS)
    }

    pub(super) fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Returns all vectors as one contiguous slice.
    pub(super) fn numbers(&self) -> &[f32] {
        &self.vectors
    }

    /// Returns the entries with their vectors.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&[f32], &Row)> {
        // A block with zero dimensions has no entries.
        self.vectors.chunks_exact(self.dimensions.max(1)).zip(&self.rows)
    }

    /// Returns the word index of the texts; builds it on the first call.
    pub(super) fn words(&self) -> &WordIndex {
        self.words.get_or_init(|| WordIndex::of(self.rows.iter().map(|row| row.segment.text())))
    }

    pub(super) fn push(&mut self, vector: &[f32], row: Row) {
        self.words.take();
        self.vectors.extend_from_slice(vector);
        self.rows.push(row);
    }

    /// Replaces the entry at a position and returns the old one.
    pub(super) fn set(&mut self, at: usize, vector: &[f32], row: Row) -> Option<Row> {
        self.words.take();
        let start = at * self.dimensions;
        let numbers = self.vectors.get_mut(start..start + self.dimensions)?;
        for (number, new) in numbers.iter_mut().zip(vector) {
            *number = *new;
        }
        self.rows.get_mut(at).map(|old| std::mem::replace(old, row))
    }

    /// Removes and returns the last entry.
    pub(super) fn pop(&mut self) -> Option<(Vec<f32>, Row)> {
        self.words.take();
        let row = self.rows.pop()?;
        let vector = self.vectors.split_off(self.rows.len() * self.dimensions);
        Some((vector, row))
    }
}

/// Clones a block in order to change it, so the word index is not cloned.
impl Clone for Block {
    fn clone(&self) -> Self {
        Self {
            dimensions: self.dimensions,
            vectors: self.vectors.clone(),
            rows: self.rows.clone(),
            words: OnceLock::new(),
        }
    }
}
