//! The lines of a body that arrives in chunks.

use super::Framing;
use bytes::Bytes;

/// Finds the lines of a body whose chunks may end anywhere. Each byte is searched once.
pub(super) struct Lines {
    framing: Framing,
    chunk: Bytes,
    /// Position of the first unread byte of the chunk.
    position: usize,
    /// The beginning of a line whose end has not arrived.
    partial: Vec<u8>,
    /// `true` if `partial` is the line that was returned last.
    is_partial_read: bool,
    /// `true` if the last line ended with CR, whose LF may follow.
    may_skip_lf: bool,
}

impl Lines {
    /// Creates the lines of a body without chunks. The lines of events end with LF, CR or both, JSON lines
    /// with LF.
    pub(super) fn new(framing: Framing) -> Self {
        Self {
            framing,
            chunk: Bytes::new(),
            position: 0,
            partial: Vec::new(),
            is_partial_read: false,
            may_skip_lf: false,
        }
    }

    /// Adds a chunk. All lines of the previous chunk must have been read.
    pub(super) fn push(&mut self, chunk: Bytes) {
        self.chunk = chunk;
        self.position = 0;
    }

    /// Returns the next line without its end. `None` if its end has not arrived.
    pub(super) fn next(&mut self) -> Option<&[u8]> {
        if std::mem::take(&mut self.is_partial_read) {
            self.partial.clear();
        }
        let mut rest = self.chunk.get(self.position..).unwrap_or_default();
        if self.may_skip_lf && !rest.is_empty() {
            self.may_skip_lf = false;
            if let Some(after_lf) = rest.strip_prefix(b"\n") {
                rest = after_lf;
                self.position += 1;
            }
        }
        let end = match self.framing {
            Framing::Events => memchr::memchr2(b'\n', b'\r', rest),
            Framing::Lines => memchr::memchr(b'\n', rest),
        };
        let Some((line, end)) = end.and_then(|end| rest.split_at_checked(end)) else {
            self.partial.extend_from_slice(rest);
            self.position = self.chunk.len();
            return None;
        };
        self.position += line.len() + 1;
        self.may_skip_lf = end.starts_with(b"\r");
        if self.partial.is_empty() {
            return Some(line);
        }
        self.partial.extend_from_slice(line);
        self.is_partial_read = true;
        Some(&self.partial)
    }

    /// Returns the length of the line whose end has not arrived.
    pub(super) fn partial_len(&self) -> usize {
        self.partial.len()
    }
}
