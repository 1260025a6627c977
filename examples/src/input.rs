//! Input lines from a terminal or a pipe.

use anyhow::Context;
use rustyline::error::ReadlineError;
use rustyline::history::MemHistory;
use rustyline::{Behavior, Config, Editor};
use std::io::{self, BufRead, IsTerminal};
use std::thread;
use tokio::sync::mpsc;
use tokio::task::block_in_place;

/// Source of input lines.
pub(crate) enum Input {
    /// Line editor with a history that lasts until the process exits.
    Terminal(Box<Editor<(), MemHistory>>),
    /// Lines from a pipe, as they arrive.
    Pipe(mpsc::Receiver<io::Result<String>>),
    /// No input; standard input is not read.
    Closed,
}

/// Result of reading a line.
pub(crate) enum InputLine {
    Text(String),
    /// The line was cancelled with Ctrl-C.
    Cancelled,
    End,
}

impl Input {
    /// Opens the terminal, or the pipe in its place.
    pub(crate) fn open() -> anyhow::Result<Self> {
        Ok(match Self::of_terminal()? {
            Self::Closed => Self::pipe(),
            terminal => terminal,
        })
    }

    /// Opens the terminal. Without a terminal there is no input.
    pub(crate) fn of_terminal() -> anyhow::Result<Self> {
        if !io::stdin().is_terminal() {
            return Ok(Self::Closed);
        }
        let config = Config::builder()
            // Show the prompt on the terminal even if standard output is redirected.
            .behavior(Behavior::PreferTerm)
            .auto_add_history(true)
            .build();
        let editor = Editor::with_history(config, MemHistory::new()).context("the terminal")?;
        Ok(Self::Terminal(Box::new(editor)))
    }

    pub(crate) fn is_terminal(&self) -> bool {
        matches!(self, Self::Terminal(_))
    }

    /// Reads on a separate thread, so that a blocked read does not delay the exit.
    fn pipe() -> Self {
        let (sender, receiver) = mpsc::channel(1);
        thread::spawn(move || {
            let mut stdin = io::stdin().lock();
            let mut bytes = Vec::new();
            loop {
                bytes.clear();
                let line = match stdin.read_until(b'\n', &mut bytes) {
                    Ok(0) => return,
                    Ok(_) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
                    Err(error) => Err(error),
                };
                if sender.blocking_send(line).is_err() {
                    return;
                }
            }
        });
        Self::Pipe(receiver)
    }

    /// Returns the next line.
    pub(crate) async fn next(&mut self, prompt: &str) -> anyhow::Result<InputLine> {
        self.edit(prompt, "").await
    }

    /// Returns the next line. A terminal lets the user edit `text`.
    pub(crate) async fn edit(&mut self, prompt: &str, text: &str) -> anyhow::Result<InputLine> {
        match self {
            Self::Closed => Ok(InputLine::End),
            Self::Terminal(editor) => match read_line(editor, prompt, text) {
                Ok(line) => Ok(InputLine::Text(line)),
                Err(ReadlineError::Interrupted) => Ok(InputLine::Cancelled),
                Err(ReadlineError::Eof) => Ok(InputLine::End),
                Err(error) => Err(error).context("the terminal"),
            },
            Self::Pipe(lines) => tokio::select! {
                // No turn is running, so Ctrl-C ends the input.
                _ = tokio::signal::ctrl_c() => Ok(InputLine::End),
                line = lines.recv() => match line {
                    Some(line) => line.map(InputLine::Text).context("standard input"),
                    None => Ok(InputLine::End),
                },
            },
        }
    }
}

fn read_line(
    editor: &mut Editor<(), MemHistory>,
    prompt: &str,
    text: &str,
) -> rustyline::Result<String> {
    block_in_place(|| editor.readline_with_initial(prompt, (text, "")))
}
