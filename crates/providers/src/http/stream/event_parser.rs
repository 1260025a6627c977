//! The grammar of streams: server-sent events, and JSON lines.

use super::lines::Lines;
use super::{Event, Framing};
use bytes::Bytes;
use std::str::Utf8Error;

/// Maximum size of an event with all its lines, in bytes.
pub(super) const MAX_EVENT_BYTES: usize = 4 << 20;

/// Finds the events of a body whose chunks may end anywhere.
pub(super) struct EventParser {
    framing: Framing,
    lines: Lines,
    event: PartialEvent,
    /// `true` before the first line, which may begin with a byte order mark.
    is_start: bool,
}

/// The error of an event that cannot be read.
pub(super) enum FramingError {
    /// The event is larger than [`MAX_EVENT_BYTES`].
    TooLarge,
    NotUtf8(Utf8Error),
}

/// The lines of an event that were read so far.
#[derive(Default)]
struct PartialEvent {
    /// The lines of the data, joined by LF. The buffer is used again for the next event.
    data: String,
    has_data: bool,
    is_error: bool,
    is_complete: bool,
    /// Number of bytes of all lines.
    size: usize,
}

impl EventParser {
    pub(super) fn new(framing: Framing) -> Self {
        let event = PartialEvent::default();
        Self { framing, lines: Lines::new(framing), event, is_start: true }
    }

    /// Adds a chunk. All events of the previous chunk must have been read.
    pub(super) fn push(&mut self, chunk: Bytes) {
        self.lines.push(chunk);
    }

    /// Reads the next event that has data. Returns `false` if its end has not arrived.
    pub(super) fn advance(&mut self) -> Result<bool, FramingError> {
        if self.event.is_complete {
            self.event.clear();
        }
        while let Some(mut line) = self.lines.next() {
            self.event.grow(line.len() + 1)?;
            if std::mem::take(&mut self.is_start) {
                line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
            }
            match self.framing {
                Framing::Events => self.event.add_field(line)?,
                Framing::Lines => self.event.add_json(line)?,
            }
            if self.event.is_complete {
                return Ok(true);
            }
        }
        self.event.check_size(self.lines.partial_len())?;
        Ok(false)
    }

    /// Returns the event that was read last.
    pub(super) fn event(&self) -> Event<'_> {
        Event { data: &self.event.data, is_error: self.event.is_error }
    }
}

impl PartialEvent {
    fn clear(&mut self) {
        let mut data = std::mem::take(&mut self.data);
        data.clear();
        *self = Self { data, ..Self::default() };
    }

    fn grow(&mut self, bytes: usize) -> Result<(), FramingError> {
        self.size += bytes;
        self.check_size(0)
    }

    /// Fails if the event would be too large with this number of further bytes.
    fn check_size(&self, further: usize) -> Result<(), FramingError> {
        if self.size + further > MAX_EVENT_BYTES { Err(FramingError::TooLarge) } else { Ok(()) }
    }

    /// Adds a line of server-sent events. An empty line completes an event that has data.
    fn add_field(&mut self, line: &[u8]) -> Result<(), FramingError> {
        if line.is_empty() {
            self.is_complete = self.has_data;
            if !self.has_data {
                self.clear();
            }
            return Ok(());
        }
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let (name, value) = line.split_at_checked(colon).unwrap_or_default();
        let value = value.strip_prefix(b":").unwrap_or_default();
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"data" => self.add_data(value)?,
            b"event" => self.is_error = value == b"error",
            // Comments, ids and delays.
            _ => {}
        }
        Ok(())
    }

    /// Adds a JSON line, which is an event unless it is blank.
    fn add_json(&mut self, line: &[u8]) -> Result<(), FramingError> {
        if line.trim_ascii().is_empty() {
            self.clear();
            return Ok(());
        }
        self.is_complete = true;
        self.add_data(line)
    }

    fn add_data(&mut self, line: &[u8]) -> Result<(), FramingError> {
        let line = std::str::from_utf8(line).map_err(FramingError::NotUtf8)?;
        if std::mem::replace(&mut self.has_data, true) {
            self.data.push('\n');
        }
        self.data.push_str(line);
        Ok(())
    }
}
