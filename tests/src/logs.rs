//! Capture of all logs of a process.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::fmt::{Debug, Write};
use std::sync::{Mutex, PoisonError};
use tracing::field::{Field, Visit};
use tracing::span;

static LOGGED: Mutex<String> = Mutex::new(String::new());

/// Starts the capture. Must be called once per process.
pub fn start() {
    tracing::subscriber::set_global_default(Capture).unwrap();
    log::set_logger(&Capture).unwrap();
    log::set_max_level(log::LevelFilter::Trace);
}

/// Returns the logs since the last call.
pub fn take() -> String {
    std::mem::take(&mut *LOGGED.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Captures every span, event and record at every level.
struct Capture;

struct Line<'a>(&'a mut String);

impl Visit for Line<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, " {field}={value:?}").unwrap();
    }
}

impl Capture {
    fn line(target: &str, record: impl FnOnce(&mut Line<'_>)) {
        let mut line = target.to_owned();
        record(&mut Line(&mut line));
        let mut logged = LOGGED.lock().unwrap_or_else(PoisonError::into_inner);
        writeln!(logged, "{line}").unwrap();
    }
}

impl tracing::Subscriber for Capture {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, attributes: &span::Attributes<'_>) -> span::Id {
        Self::line(attributes.metadata().target(), |line| attributes.record(line));
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, values: &span::Record<'_>) {
        Self::line("record", |line| values.record(line));
    }

    fn event(&self, event: &tracing::Event<'_>) {
        Self::line(event.metadata().target(), |line| event.record(line));
    }

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

impl log::Log for Capture {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        Self::line(record.target(), |line| write!(line.0, " {}", record.args()).unwrap());
    }

    fn flush(&self) {}
}
