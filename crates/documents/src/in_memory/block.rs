//! Entries that lie beside each other in memory.

use super::words::Words;
use ai_services_core::document::TextSegment;
use std::sync::{Arc, OnceLock};

/// How many numbers a block holds: a megabyte. A search gives way to other tasks after each, about every
/// tenth of a millisecond; a change copies it if a search reads it.
const NUMBERS: usize = if cfg!(test) { 64 } else { 256 * 1024 };

/// How many entries a block holds at most. Its words are counted anew when one of them changed.
const MAX_ROWS: usize = 1024;

/// An entry without its vector. Cloning it is cheap.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) id: Arc<str>,
    pub(super) segment: TextSegment,
}

/// Some entries, with their vectors one behind the other.
#[derive(Debug)]
pub(super) struct Block {
    dimensions: usize,
    vectors: Vec<f32>,
    rows: Vec<Row>,
    words: OnceLock<Words>,
}

impl Block {
    pub(super) fn new(dimensions: usize) -> Self {
        Self { dimensions, vectors: Vec::new(), rows: Vec::new(), words: OnceLock::new() }
    }

    /// How many entries a block has at these dimensions before another one is begun.
    pub(super) fn capacity(dimensions: usize) -> usize {
        (NUMBERS / dimensions.max(1)).clamp(1, MAX_ROWS)
    }

    pub(super) fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// All vectors, one behind the other.
    pub(super) fn numbers(&self) -> &[f32] {
        &self.vectors
    }

    /// The entries with their vectors.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&[f32], &Row)> {
        // A block without dimensions has no entries either.
        self.vectors.chunks_exact(self.dimensions.max(1)).zip(&self.rows)
    }

    /// The words of its texts, counted at the first call.
    pub(super) fn words(&self) -> &Words {
        self.words.get_or_init(|| Words::of(self.rows.iter().map(|row| row.segment.text())))
    }

    pub(super) fn push(&mut self, vector: &[f32], row: Row) {
        self.words.take();
        self.vectors.extend_from_slice(vector);
        self.rows.push(row);
    }

    /// Puts another entry into the place of one, which it gives back.
    pub(super) fn set(&mut self, at: usize, vector: &[f32], row: Row) -> Option<Row> {
        self.words.take();
        let start = at * self.dimensions;
        let numbers = self.vectors.get_mut(start..start + self.dimensions)?;
        for (number, new) in numbers.iter_mut().zip(vector) {
            *number = *new;
        }
        self.rows.get_mut(at).map(|old| std::mem::replace(old, row))
    }

    /// Takes the last entry out.
    pub(super) fn pop(&mut self) -> Option<(Vec<f32>, Row)> {
        self.words.take();
        let row = self.rows.pop()?;
        let vector = self.vectors.split_off(self.rows.len() * self.dimensions);
        Some((vector, row))
    }
}

/// Who clones a block is about to change it.
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
