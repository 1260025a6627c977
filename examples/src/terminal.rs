//! Draw target of the spinner.

use console::Term;
use indicatif::{ProgressDrawTarget, TermLike};
use std::io;

/// Maximum number of redraws per second.
const MAX_FPS: u8 = 20;

/// Returns standard error, or a hidden target if standard error is not a terminal.
pub(crate) fn draw_target() -> ProgressDrawTarget {
    let terminal = Term::buffered_stderr();
    if terminal.is_term() {
        ProgressDrawTarget::term_like_with_hz(Box::new(UnpaddedTerm(terminal)), MAX_FPS)
    } else {
        ProgressDrawTarget::hidden()
    }
}

/// A terminal whose lines are not padded with spaces.
///
/// After a padded line, the `^C` that a terminal shows for Ctrl-C would start a new line, and the spinner
/// would remain visible.
#[derive(Debug)]
struct UnpaddedTerm(Term);

impl TermLike for UnpaddedTerm {
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
