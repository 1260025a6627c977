//! What is shown beside the answers: a spinner while the model works, what its tools do, and what it
//! thinks.
//!
//! All of it goes to standard error, so that standard output has nothing but answers.

use crate::render::{one_line, plain};
use crate::terminal;
use ai_services::tool::ToolExecution;
use console::style;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How many characters of a tool's arguments or result are shown.
const SHOWN: usize = 160;

/// Standard error, shared by the chat and its listener.
#[derive(Clone, Default)]
pub(crate) struct Screen(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    /// Since when a turn runs, if one does.
    since: Option<Instant>,
    /// The spinner, where it turns.
    bar: Option<ProgressBar>,
}

/// While it lives, a spinner may turn; never where standard error is no terminal.
#[must_use]
pub(crate) struct Spinner<'a>(&'a Screen);

impl Screen {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Starts the spinner and its clock.
    pub(crate) fn spin(&self) -> Spinner<'_> {
        self.state().since = Some(Instant::now());
        self.thinking();
        Spinner(self)
    }

    /// Stops the spinner until there is something new to wait for.
    pub(crate) fn hide(&self) {
        if let Some(bar) = self.state().bar.take() {
            bar.finish_and_clear();
        }
    }

    /// Shows that the model is being asked.
    pub(crate) fn thinking(&self) {
        self.state().work("thinking".to_owned());
    }

    /// Shows that a tool is called or runs.
    pub(crate) fn working_on(&self, tool: &str) {
        self.state().work(one_line(tool, SHOWN));
    }

    /// Shows what a tool did.
    pub(crate) fn tool(&self, execution: &ToolExecution) {
        let call = execution.call();
        let name = one_line(call.name(), SHOWN);
        let arguments = one_line(call.arguments(), SHOWN);
        let time = execution.duration().as_millis();
        let result = execution.result();
        let mark = if result.is_error() { "✗" } else { "✓" };
        let text = one_line(result.text().unwrap_or_default(), SHOWN);
        let line = format!("→ {name}({arguments})  {mark} {time} ms: {text}");
        self.print(&dim(&line));
    }

    /// Shows a line.
    pub(crate) fn say(&self, text: &str) {
        self.print(&plain(text));
    }

    /// Shows what the model thought.
    pub(crate) fn thought(&self, text: &str) {
        self.print(&dim(&plain(text)));
    }

    /// Goes on with a line of what the model thinks, in text without control sequences.
    pub(crate) fn think(&self, text: &str) {
        self.hide();
        drop(write!(io::stderr(), "{}", dim(text)));
    }

    /// Prints a line that contains no foreign control sequences.
    fn print(&self, line: &str) {
        // Without standard error there is nobody to tell.
        let print = || drop(writeln!(io::stderr(), "{line}"));
        match &self.state().bar {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn dim(text: &str) -> String {
    style(text).for_stderr().dim().to_string()
}

impl State {
    /// Turns the spinner beside this message, if a turn runs.
    fn work(&mut self, message: String) {
        let Some(since) = self.since else { return };
        self.bar.get_or_insert_with(|| spinner(since)).set_message(message);
    }
}

fn spinner(since: Instant) -> ProgressBar {
    let bar = ProgressBar::new_spinner().with_elapsed(since.elapsed());
    bar.set_draw_target(terminal::place());
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {elapsed}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
}

impl Drop for Spinner<'_> {
    fn drop(&mut self) {
        self.0.state().since = None;
        self.0.hide();
    }
}
