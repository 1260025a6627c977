//! What is shown beside the answers: a spinner while the model works, and what its tools do.
//!
//! All of it goes to standard error, so that standard output has nothing but answers.

use crate::render::{one_line, plain};
use crate::terminal;
use ai_services::tool::ToolExecution;
use console::style;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How many characters of a tool's arguments or error are shown.
const SHOWN: usize = 160;

/// Standard error, shared by the chat and its listener.
#[derive(Clone, Default)]
pub(crate) struct Screen(Arc<Mutex<Option<ProgressBar>>>);

/// While it lives, a spinner turns; never where standard error is no terminal.
#[must_use]
pub(crate) struct Spinner<'a>(&'a Screen);

impl Screen {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Starts the spinner.
    pub(crate) fn spin(&self) -> Spinner<'_> {
        let bar = ProgressBar::new_spinner();
        bar.set_draw_target(terminal::place());
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {elapsed}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(100));
        *self.bar() = Some(bar);
        self.thinking();
        Spinner(self)
    }

    /// Shows that the model is being asked.
    pub(crate) fn thinking(&self) {
        self.message("thinking".to_owned());
    }

    /// Shows that a tool runs.
    pub(crate) fn working_on(&self, tool: &str) {
        self.message(one_line(tool, SHOWN));
    }

    /// Shows what a tool did.
    pub(crate) fn tool(&self, execution: &ToolExecution) {
        let call = execution.call();
        let name = one_line(call.name(), SHOWN);
        let arguments = one_line(call.arguments(), SHOWN);
        let time = execution.duration().as_millis();
        let result = execution.result();
        let outcome = match result.is_error() {
            false => format!("✓ {time} ms"),
            true => {
                let error = one_line(result.text().unwrap_or_default(), SHOWN);
                format!("✗ {time} ms: {error}")
            }
        };
        let line = format!("→ {name}({arguments})  {outcome}");
        self.print(&style(line).for_stderr().dim().to_string());
    }

    /// Shows a line.
    pub(crate) fn say(&self, text: &str) {
        self.print(&plain(text));
    }

    /// Prints a line that contains no foreign control sequences.
    fn print(&self, line: &str) {
        // Without standard error there is nobody to tell.
        let print = || drop(writeln!(io::stderr(), "{line}"));
        match &*self.bar() {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }

    fn message(&self, text: String) {
        if let Some(bar) = &*self.bar() {
            bar.set_message(text);
        }
    }

    fn bar(&self) -> MutexGuard<'_, Option<ProgressBar>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Spinner<'_> {
    fn drop(&mut self) {
        if let Some(bar) = self.0.bar().take() {
            bar.finish_and_clear();
        }
    }
}
