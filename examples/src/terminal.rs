//! Where the spinner turns.

use console::Term;
use indicatif::{ProgressDrawTarget, TermLike};
use std::io;

/// How often the spinner is drawn at most, in a second.
const FRAMES: u8 = 20;

/// Standard error as the spinner's place; nowhere if it is no terminal.
pub(crate) fn place() -> ProgressDrawTarget {
    let terminal = Term::buffered_stderr();
    match terminal.is_term() {
        true => ProgressDrawTarget::term_like_with_hz(Box::new(Line(terminal)), FRAMES),
        false => ProgressDrawTarget::hidden(),
    }
}

/// A terminal whose lines are not filled with spaces.
///
/// Behind a filled line, the `^C` that a terminal shows for Ctrl-C would begin a new one, and what
/// the spinner has drawn would stay.
#[derive(Debug)]
struct Line(Term);

impl TermLike for Line {
    fn width(&self) -> u16 {
        TermLike::width(&self.0)
    }

    fn height(&self) -> u16 {
        TermLike::height(&self.0)
    }

    fn move_cursor_up(&self, n: usize) -> io::Result<()> {
        self.0.move_cursor_up(n)
    }

    fn move_cursor_down(&self, n: usize) -> io::Result<()> {
        self.0.move_cursor_down(n)
    }

    fn move_cursor_right(&self, n: usize) -> io::Result<()> {
        self.0.move_cursor_right(n)
    }

    fn move_cursor_left(&self, n: usize) -> io::Result<()> {
        self.0.move_cursor_left(n)
    }

    fn write_line(&self, line: &str) -> io::Result<()> {
        self.0.write_line(line)
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        match text.trim_end_matches(' ') {
            "" => Ok(()),
            _ => self.0.write_str(text),
        }
    }

    fn clear_line(&self) -> io::Result<()> {
        self.0.clear_line()
    }

    fn flush(&self) -> io::Result<()> {
        self.0.flush()
    }
}
