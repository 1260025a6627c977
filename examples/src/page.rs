//! An answer while it is shown.
//!
//! Answers go to standard output, thoughts to standard error. Both may be the same terminal, so what
//! begins on one of them ends the line of the other.

use crate::filter::Filter;
use crate::markdown::Markdown;
use crate::screen::{Screen, Spinner};
use ai_services::tool::ToolExecution;
use std::env;
use std::io::{self, Write};

/// How answers are shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    markdown: bool,
    thinking: bool,
}

impl Look {
    /// As the arguments and the terminal have it.
    pub(crate) fn new(is_plain: bool, thinking: bool) -> Self {
        let is_plain = is_plain || env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        if is_plain {
            console::set_colors_enabled_stderr(false);
        }
        Self { markdown: !is_plain && console::colors_enabled(), thinking }
    }

    /// What the model is told about it.
    pub(crate) fn form(self) -> &'static str {
        match self.markdown {
            true => "in simple Markdown",
            false => "as plain text without Markdown",
        }
    }

    /// Whether thoughts are shown.
    pub(crate) fn thinking(self) -> bool {
        self.thinking
    }
}

/// Shows one answer.
pub(crate) struct Page<'a> {
    look: Look,
    screen: &'a Screen,
    answer: Filter,
    markdown: Markdown,
    thoughts: Filter,
    line: Line,
    /// Whether there was text since the last tool.
    has_text: bool,
    _spinner: Spinner<'a>,
}

/// What is on the line where the next character appears.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Line {
    Nothing,
    Answer,
    Thoughts,
}

impl<'a> Page<'a> {
    pub(crate) fn new(look: Look, screen: &'a Screen) -> Self {
        Self {
            look,
            screen,
            answer: Filter::default(),
            markdown: Markdown::default(),
            thoughts: Filter::default(),
            line: Line::Nothing,
            has_text: false,
            _spinner: screen.spin(),
        }
    }

    /// Goes on with the answer.
    pub(crate) fn text(&mut self, piece: &str) -> io::Result<()> {
        self.has_text |= !piece.is_empty();
        let text = self.answer.push(piece);
        let text = if self.look.markdown { self.markdown.push(&text) } else { text };
        self.print(&text)
    }

    /// Goes on with what the model thinks.
    pub(crate) fn thought(&mut self, piece: &str) -> io::Result<()> {
        let text = self.thoughts.push(piece);
        if !self.look.thinking || text.is_empty() {
            return Ok(());
        }
        if self.line == Line::Answer {
            self.end_line()?;
        }
        self.screen.think(&text);
        self.line = if text.ends_with('\n') { Line::Nothing } else { Line::Thoughts };
        Ok(())
    }

    /// The model calls a tool, or one runs.
    pub(crate) fn tool(&mut self, name: &str) -> io::Result<()> {
        self.end_line()?;
        self.has_text = false;
        self.screen.working_on(name);
        Ok(())
    }

    /// A tool has run. The model is asked again.
    pub(crate) fn tool_ran(&mut self, execution: &ToolExecution) -> io::Result<()> {
        self.end_line()?;
        self.screen.tool(execution);
        self.screen.thinking();
        Ok(())
    }

    /// The text so far was no answer.
    pub(crate) fn restart(&mut self) -> io::Result<()> {
        self.end_line()?;
        self.has_text = false;
        self.screen.say("that was no answer; the model tries again");
        Ok(())
    }

    /// The answer is complete; a model that does not stream has said nothing so far.
    pub(crate) fn complete(&mut self, answer: &str) -> io::Result<()> {
        if !self.has_text {
            self.text(answer)?;
            if answer.is_empty() {
                self.print("\n")?;
            }
        }
        self.end_line()
    }

    /// Shows what was held back, and ends the line.
    pub(crate) fn end_line(&mut self) -> io::Result<()> {
        let rest = self.answer.finish();
        let rest = match self.look.markdown {
            true => self.markdown.push(&rest) + &self.markdown.finish(),
            false => rest,
        };
        self.print(&rest)?;
        match self.line {
            Line::Nothing => Ok(()),
            Line::Answer => self.print("\n"),
            Line::Thoughts => {
                self.end_thoughts();
                Ok(())
            }
        }
    }

    fn end_thoughts(&mut self) {
        self.screen.think(&(self.thoughts.finish() + "\n"));
        self.line = Line::Nothing;
    }

    /// Prints what contains no foreign control sequences.
    fn print(&mut self, text: &str) -> io::Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        if self.line == Line::Thoughts {
            self.end_thoughts();
        }
        self.screen.hide();
        self.line = if text.ends_with('\n') { Line::Nothing } else { Line::Answer };
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())?;
        out.flush()
    }
}
