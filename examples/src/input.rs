//! Where the lines come from: a person at a terminal, or a pipe.

use anyhow::Context;
use rustyline::error::ReadlineError;
use rustyline::history::MemHistory;
use rustyline::{Behavior, Config, Editor};
use std::io::{self, BufRead, IsTerminal};
use std::thread;
use tokio::sync::mpsc;
use tokio::task::block_in_place;

/// Lines of input.
pub(crate) enum Input {
    /// Lines that can be edited, with a history that lasts as long as the process.
    Terminal(Box<Editor<(), MemHistory>>),
    /// Lines as they arrive.
    Pipe(mpsc::Receiver<io::Result<String>>),
}

/// What came in.
pub(crate) enum Line {
    Text(String),
    /// The line was given up with Ctrl-C.
    GivenUp,
    End,
}

impl Input {
    pub(crate) fn open() -> anyhow::Result<Self> {
        if !io::stdin().is_terminal() {
            return Ok(Self::pipe());
        }
        let config = Config::builder()
            // The prompt goes to the terminal even if the answers go elsewhere.
            .behavior(Behavior::PreferTerm)
            .auto_add_history(true)
            .build();
        let editor = Editor::with_history(config, MemHistory::new()).context("the terminal")?;
        Ok(Self::Terminal(Box::new(editor)))
    }

    pub(crate) fn is_terminal(&self) -> bool {
        matches!(self, Self::Terminal(_))
    }

    /// Reads on a thread of its own, which nobody has to wait for at the end.
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

    /// The next line.
    pub(crate) async fn next(&mut self, prompt: &str) -> anyhow::Result<Line> {
        match self {
            Self::Terminal(editor) => match block_in_place(|| editor.readline(prompt)) {
                Ok(line) => Ok(Line::Text(line)),
                Err(ReadlineError::Interrupted) => Ok(Line::GivenUp),
                Err(ReadlineError::Eof) => Ok(Line::End),
                Err(error) => Err(error).context("the terminal"),
            },
            Self::Pipe(lines) => tokio::select! {
                // Nothing runs that could be cancelled instead.
                _ = tokio::signal::ctrl_c() => Ok(Line::End),
                line = lines.recv() => match line {
                    Some(line) => line.map(Line::Text).context("standard input"),
                    None => Ok(Line::End),
                },
            },
        }
    }
}
