//! Status output: a spinner while the model works, tool calls, thinking and notices.
//!
//! All of it is written to standard error, so that standard output contains only answers.

use crate::render::{one_line, plain};
use crate::terminal;
use ai_services::message::{Content, ToolResult};
use ai_services::tool::{ToolExecution, ToolProgress};
use console::style;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Maximum number of characters of a tool's arguments or result.
const MAX_SHOWN_CHARS: usize = 160;

/// Standard error, shared between the chat and its listener.
#[derive(Clone, Default)]
pub(crate) struct Screen(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    /// Start of the running turn.
    since: Option<Instant>,
    /// The spinner, if it is visible.
    bar: Option<ProgressBar>,
}

/// Guard that allows a spinner until it is dropped. Without a terminal the spinner is hidden.
#[must_use]
pub(crate) struct Spinner<'a>(&'a Screen);

impl Screen {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Starts the spinner and its timer.
    pub(crate) fn spin(&self) -> Spinner<'_> {
        self.state().since = Some(Instant::now());
        self.waiting_for_model();
        Spinner(self)
    }

    /// Hides the spinner until the next wait.
    pub(crate) fn hide(&self) {
        if let Some(bar) = self.state().bar.take() {
            bar.finish_and_clear();
        }
    }

    /// Shows that the model is called.
    pub(crate) fn waiting_for_model(&self) {
        self.state().show_spinner("thinking".to_owned());
    }

    /// Shows that a tool is called or runs.
    pub(crate) fn working_on(&self, tool: &str) {
        self.state().show_spinner(one_line(tool, MAX_SHOWN_CHARS));
    }

    /// Shows the progress of a running tool.
    pub(crate) fn progress(&self, tool: &str, progress: &ToolProgress) {
        let total = progress.total.map(|total| format!("/{total}")).unwrap_or_default();
        let message = progress.message.as_deref().unwrap_or_default();
        self.working_on(&format!("{tool} {}{total} {message}", progress.completed));
    }

    /// Shows the result of a tool.
    pub(crate) fn tool(&self, execution: &ToolExecution) {
        let call = execution.call();
        let name = one_line(call.name(), MAX_SHOWN_CHARS);
        let arguments = one_line(call.arguments(), MAX_SHOWN_CHARS);
        let time = execution.duration().as_millis();
        let result = execution.result();
        let mark = if result.is_error() { "✗" } else { "✓" };
        let text = one_line(&result_text(result), MAX_SHOWN_CHARS);
        let line = format!("→ {name}({arguments})  {mark} {time} ms: {text}");
        self.print(&dim(&line));
    }

    /// Prints a line.
    pub(crate) fn notice(&self, text: &str) {
        self.print(&plain(text));
    }

    /// Prints the complete thinking of the model.
    pub(crate) fn thinking_line(&self, text: &str) {
        self.print(&dim(&plain(text)));
    }

    /// Appends a piece of the model's thinking, which must not contain control sequences.
    pub(crate) fn thinking_piece(&self, text: &str) {
        self.hide();
        drop(write!(io::stderr(), "{}", dim(text)));
    }

    /// Prints a line, which must not contain control sequences of the model.
    fn print(&self, line: &str) {
        // If standard error is closed, there is no place to report that.
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

/// Returns the texts of a tool result. A call with edited arguments has two: the result and a note.
pub(crate) fn result_text(result: &ToolResult) -> String {
    let texts: Vec<&str> = result.contents().iter().filter_map(Content::text).collect();
    texts.join("\n")
}

fn dim(text: &str) -> String {
    style(text).for_stderr().dim().to_string()
}

impl State {
    /// Shows the spinner with this message, if a turn is running.
    fn show_spinner(&mut self, message: String) {
        let Some(since) = self.since else { return };
        self.bar.get_or_insert_with(|| spinner(since)).set_message(message);
    }
}

fn spinner(since: Instant) -> ProgressBar {
    let bar = ProgressBar::new_spinner().with_elapsed(since.elapsed());
    bar.set_draw_target(terminal::draw_target());
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
