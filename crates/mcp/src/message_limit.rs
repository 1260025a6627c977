//! The size of messages, which is checked before they are parsed.
//!
//! A value needs about 130 bytes while its message is parsed, even if its text has two, so a limit of the bytes alone
//! would let a message use 65 times as much. The number of values is known without parsing: all but the first follow a
//! structural character that is not in a string.

use memchr::{memchr, memchr2};
use std::io::Result;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, ReadBuf};

/// Most bytes of a message of a server.
pub(crate) const MAX_MESSAGE_BYTES: usize = 16 * 1024 * 1024;

/// Most of the characters `[`, `{`, `:` and `,` that a message has outside of strings.
pub(crate) const MAX_STRUCTURE: usize = 250_000;

/// The part of a message that was read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MessageSize {
    max_bytes: usize,
    bytes: usize,
    structure: usize,
    is_in_string: bool,
    is_escaped: bool,
}

/// The end of a message in a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Line,
    /// The empty line after a server-sent event.
    EmptyLine,
}

/// Removes the rest of a message that is too large from a stream.
///
/// What is left of it lacks the end of an array or object, so that its reader skips it as invalid JSON.
#[derive(Debug)]
pub(crate) struct MessageFilter {
    end: End,
    size: MessageSize,
    is_skipping: bool,
    line: Line,
    /// The message has a line that is not a comment.
    has_fields: bool,
    is_after_carriage_return: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line {
    Empty,
    /// Some servers send comments without an end, to keep a connection open.
    Comment,
    Field,
}

/// A reader of lines without the rest of those that are too large.
#[derive(Debug)]
pub(crate) struct FilteredLines<R> {
    reader: R,
    filter: MessageFilter,
}

impl MessageSize {
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self { max_bytes, bytes: 0, structure: 0, is_in_string: false, is_escaped: false }
    }

    /// Adds the next bytes. Returns `false` if the message is too large.
    pub(crate) fn add(&mut self, bytes: &[u8]) -> bool {
        self.fitting(bytes) == bytes.len()
    }

    /// Adds the next bytes up to the first that makes the message too large. Returns their number.
    fn fitting(&mut self, bytes: &[u8]) -> usize {
        let most = bytes.len().min(self.max_bytes.saturating_sub(self.bytes));
        let mut at = 0;
        while let Some(rest) = bytes.get(at..most)
            && let [byte, ..] = rest
        {
            if self.is_escaped {
                self.is_escaped = false;
            } else if self.is_in_string {
                // Large messages are mostly strings.
                let Some(text) = memchr2(b'"', b'\\', rest) else {
                    at = most;
                    break;
                };
                at += text;
                self.is_escaped = rest.get(text) == Some(&b'\\');
                self.is_in_string = self.is_escaped;
            } else if *byte == b'"' {
                self.is_in_string = true;
            } else if matches!(byte, b'[' | b'{' | b':' | b',') {
                if self.structure == MAX_STRUCTURE {
                    break;
                }
                self.structure += 1;
            }
            at += 1;
        }
        self.bytes += at;
        at
    }
}

impl MessageFilter {
    pub(crate) fn new(end: End, max_bytes: usize) -> Self {
        Self {
            end,
            size: MessageSize::new(max_bytes),
            is_skipping: false,
            line: Line::Empty,
            has_fields: false,
            is_after_carriage_return: false,
        }
    }

    /// Moves the bytes that are left to the front, and returns their number.
    pub(crate) fn retain(&mut self, bytes: &mut [u8]) -> usize {
        let (mut at, mut kept) = (0, 0);
        while let Some(rest) = bytes.get(at..)
            && let [first, ..] = rest
        {
            let text = match self.end {
                End::Line => memchr(b'\n', rest),
                End::EmptyLine => memchr2(b'\n', b'\r', rest),
            };
            let (read, left) = match text {
                Some(0) => {
                    self.add_line_break(*first);
                    (1, 1)
                }
                text => {
                    let text = rest.get(..text.unwrap_or(rest.len())).unwrap_or(rest);
                    (text.len(), self.add_text(text))
                }
            };
            bytes.copy_within(at..at + left, kept);
            at += read;
            kept += left;
        }
        kept
    }

    /// Adds a part of a line. Returns the number of bytes that are left of it.
    fn add_text(&mut self, text: &[u8]) -> usize {
        self.is_after_carriage_return = false;
        if self.line == Line::Empty {
            self.line = if text.starts_with(b":") { Line::Comment } else { Line::Field };
        }
        if self.is_skipping {
            return 0;
        }
        let left = self.size.fitting(text);
        self.is_skipping = left < text.len();
        left
    }

    fn add_line_break(&mut self, byte: u8) {
        let is_second_half = self.is_after_carriage_return && byte == b'\n';
        self.is_after_carriage_return = byte == b'\r';
        if is_second_half {
            return;
        }
        self.has_fields |= self.line == Line::Field;
        if self.end == End::Line || self.line == Line::Empty || !self.has_fields {
            self.size = MessageSize::new(self.size.max_bytes);
            self.is_skipping = false;
            self.has_fields = false;
        }
        // A string of JSON ends before the end of its line.
        self.size.is_in_string = false;
        self.size.is_escaped = false;
        self.line = Line::Empty;
    }
}

impl<R> FilteredLines<R> {
    pub(crate) fn new(reader: R, max_bytes: usize) -> Self {
        Self { reader, filter: MessageFilter::new(End::Line, max_bytes) }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for FilteredLines<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        let before = buffer.filled().len();
        loop {
            ready!(Pin::new(&mut self.reader).poll_read(context, buffer))?;
            let new = buffer.filled_mut().get_mut(before..).unwrap_or_default();
            let is_end = new.is_empty();
            let kept = self.filter.retain(new);
            buffer.set_filled(before + kept);
            // No bytes would mean the end.
            if kept > 0 || is_end {
                return Poll::Ready(Ok(()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tokio::io::AsyncReadExt;

    /// Filters a stream that arrives in parts.
    fn filtered(end: End, max_bytes: usize, text: &str, part: usize) -> String {
        let mut filter = MessageFilter::new(end, max_bytes);
        let mut left = Vec::new();
        for bytes in text.as_bytes().chunks(part) {
            let mut bytes = bytes.to_vec();
            let kept = filter.retain(&mut bytes);
            left.extend_from_slice(&bytes[..kept]);
        }
        String::from_utf8(left).unwrap()
    }

    fn zeros(count: usize) -> String {
        format!("[0{}]", ",0".repeat(count - 1))
    }

    #[test]
    fn line_with_too_many_values_loses_its_rest() {
        let most = zeros(MAX_STRUCTURE);
        let stream = format!("{most}\n{}\n{most}\n", zeros(MAX_STRUCTURE + 1));
        for part in [1, 7, 8192, stream.len()] {
            let left = filtered(End::Line, 1 << 20, &stream, part);
            let lines: Vec<_> = left.lines().collect();
            assert_eq!(lines.len(), 3);
            assert_eq!((lines[0], lines[2]), (&*most, &*most));
            assert!(serde_json::from_str::<Vec<u8>>(lines[1]).unwrap_err().is_eof());
        }
    }

    #[test]
    fn line_with_too_many_bytes_loses_its_rest() {
        assert_eq!(filtered(End::Line, 5, "\"abc\"\n\"abcd\"\n1\n", 3), "\"abc\"\n\"abcd\n1\n");
    }

    #[test]
    fn characters_of_strings_do_not_count() {
        let text =
            format!(r#"["{}","\"{}"]"#, "[".repeat(MAX_STRUCTURE), ",".repeat(MAX_STRUCTURE));
        assert_eq!(filtered(End::Line, 1 << 20, &text, 100), text);
    }

    #[test]
    fn event_is_counted_over_its_lines() {
        for line_break in ["\n", "\r", "\r\n"] {
            let line = format!("data: {}0,{line_break}", "0,".repeat(MAX_STRUCTURE / 2));
            let stream = format!("{line}{line}{line}{line_break}data: 1{line_break}{line_break}");
            for part in [1, 7, stream.len()] {
                let left = filtered(End::EmptyLine, 1 << 20, &stream, part);
                assert!(left.len() < line.len() * 2 + 20, "{part}");
                assert!(left.ends_with(&format!("data: 1{line_break}{line_break}")), "{part}");
            }
        }
    }

    #[test]
    fn comments_between_events_do_not_add_up() {
        let stream = format!("{}data: 1\n\n", ": alive\n".repeat(MAX_STRUCTURE + 1));
        assert_eq!(filtered(End::EmptyLine, 1 << 20, &stream, 1000), stream);
        let stream = format!("data: 1\n{}", ": alive\n".repeat(MAX_STRUCTURE + 1));
        assert!(filtered(End::EmptyLine, 1 << 30, &stream, 1000).len() < stream.len());
    }

    #[tokio::test]
    async fn reader_does_not_end_at_a_part_that_is_skipped() {
        let stream = format!("{}\n1\n", zeros(MAX_STRUCTURE * 4));
        let mut left = String::new();
        FilteredLines::new(stream.as_bytes(), 1 << 30).read_to_string(&mut left).await.unwrap();
        assert!(left.ends_with("0\n1\n"));
        assert!(left.len() < MAX_STRUCTURE * 2 + 10);
    }

    proptest! {
        /// Messages within the limits, in parts of any size, are the same.
        #[test]
        fn small_streams_are_kept(text in "[ -~\r\n\u{e9}]{0,200}", part in 1..200_usize) {
            for end in [End::Line, End::EmptyLine] {
                prop_assert_eq!(filtered(end, 1000, &text, part), &*text);
            }
        }

        /// Where a stream is cut into parts makes no difference, and no line of what is left is too large.
        #[test]
        fn parts_make_no_difference(text in "[a:\"\\\\,\r\n]{0,200}", part in 1..200_usize, max in 0..20_usize) {
            for end in [End::Line, End::EmptyLine] {
                let left = filtered(end, max, &text, text.len().max(1));
                prop_assert_eq!(filtered(end, max, &text, part), &*left);
                prop_assert_eq!(left.matches('\n').count(), text.matches('\n').count());
                prop_assert!(left.split(['\n', '\r']).all(|line| line.len() <= max));
            }
        }
    }
}
