//! Display of an answer while it arrives.
//!
//! Answers are written to standard output, thinking to standard error. Both may be the same terminal, so
//! output on one of them first ends the line of the other.

use crate::filter::Filter;
use crate::markdown::Markdown;
use crate::screen::{Screen, Spinner};
use ai_services::tool::{ToolExecution, ToolProgress};
use std::env;
use std::io::{self, Write};

/// Format of the displayed answers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OutputStyle {
    markdown: bool,
    shows_thinking: bool,
}

impl OutputStyle {
    /// Creates the style from the arguments, `NO_COLOR` and the abilities of the terminal.
    pub(crate) fn new(is_plain: bool, shows_thinking: bool) -> Self {
        let is_plain = is_plain || env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        if is_plain {
            console::set_colors_enabled_stderr(false);
        }
        Self { markdown: !is_plain && console::colors_enabled(), shows_thinking }
    }

    /// Returns the description of the format for the prompt.
    pub(crate) fn form(self) -> &'static str {
        if self.markdown { "in simple Markdown" } else { "as plain text without Markdown" }
    }

    /// Returns whether thinking is shown.
    pub(crate) fn shows_thinking(self) -> bool {
        self.shows_thinking
    }
}

/// Display of one answer.
pub(crate) struct AnswerView<'a> {
    style: OutputStyle,
    screen: &'a Screen,
    answer: Filter,
    markdown: Markdown,
    thinking: Filter,
    line: CurrentLine,
    /// `true` if text arrived since the last tool.
    has_text: bool,
    _spinner: Spinner<'a>,
}

/// Content of the current line of the terminal.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CurrentLine {
    Empty,
    Answer,
    Thinking,
}

impl<'a> AnswerView<'a> {
    pub(crate) fn new(style: OutputStyle, screen: &'a Screen) -> Self {
        Self {
            style,
            screen,
            answer: Filter::default(),
            markdown: Markdown::default(),
            thinking: Filter::default(),
            line: CurrentLine::Empty,
            has_text: false,
            _spinner: screen.spin(),
        }
    }

    /// Appends a piece of the answer.
    pub(crate) fn text(&mut self, piece: &str) -> io::Result<()> {
        self.has_text |= !piece.is_empty();
        let text = self.answer.push(piece);
        let text = if self.style.markdown { self.markdown.push(&text) } else { text };
        self.print(&text)
    }

    /// Appends a piece of the model's thinking.
    pub(crate) fn thinking(&mut self, piece: &str) -> io::Result<()> {
        let text = self.thinking.push(piece);
        if !self.style.shows_thinking || text.is_empty() {
            return Ok(());
        }
        if self.line == CurrentLine::Answer {
            self.end_line()?;
        }
        self.screen.thinking_piece(&text);
        self.line = if text.ends_with('\n') { CurrentLine::Empty } else { CurrentLine::Thinking };
        Ok(())
    }

    /// Shows that the model calls a tool, or that a tool runs.
    pub(crate) fn tool(&mut self, name: &str) -> io::Result<()> {
        self.end_line()?;
        self.has_text = false;
        self.screen.working_on(name);
        Ok(())
    }

    /// Shows the progress of a running tool.
    pub(crate) fn tool_progressed(&self, name: &str, progress: &ToolProgress) {
        self.screen.progress(name, progress);
    }

    /// Shows the result of a tool; the model is called again.
    pub(crate) fn tool_ran(&mut self, execution: &ToolExecution) -> io::Result<()> {
        self.end_line()?;
        self.screen.tool(execution);
        self.screen.waiting_for_model();
        Ok(())
    }

    /// Discards the text so far, which was not a valid answer.
    pub(crate) fn restart(&mut self) -> io::Result<()> {
        self.end_line()?;
        self.has_text = false;
        self.screen.notice("the answer was invalid; the model tries again");
        Ok(())
    }

    /// Ends the answer. Prints all of it if the model did not stream.
    pub(crate) fn complete(&mut self, answer: &str) -> io::Result<()> {
        if !self.has_text {
            self.text(answer)?;
            if answer.is_empty() {
                self.print("\n")?;
            }
        }
        self.end_line()
    }

    /// Prints the text that was held back, and ends the line.
    pub(crate) fn end_line(&mut self) -> io::Result<()> {
        let rest = self.answer.finish();
        let rest = if self.style.markdown {
            self.markdown.push(&rest) + &self.markdown.finish()
        } else {
            rest
        };
        self.print(&rest)?;
        match self.line {
            CurrentLine::Empty => Ok(()),
            CurrentLine::Answer => self.print("\n"),
            CurrentLine::Thinking => {
                self.end_thinking();
                Ok(())
            }
        }
    }

    fn end_thinking(&mut self) {
        self.screen.thinking_piece(&(self.thinking.finish() + "\n"));
        self.line = CurrentLine::Empty;
    }

    /// Prints text, which must not contain control sequences of the model.
    fn print(&mut self, text: &str) -> io::Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        if self.line == CurrentLine::Thinking {
            self.end_thinking();
        }
        self.screen.hide();
        self.line = if text.ends_with('\n') { CurrentLine::Empty } else { CurrentLine::Answer };
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())?;
        out.flush()
    }
}
