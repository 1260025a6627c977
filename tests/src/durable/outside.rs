//! The outside world: a log of effects that outlives the process.

use ai_services::async_trait;
use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, Mutex};

/// A line in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The order that the turn is about.
    pub order: String,
    /// The event.
    pub event: Happened,
    /// The idempotency key of an effect, or the number of the round of an answer.
    pub key: String,
    /// The number of the process that wrote the line.
    pub process: u32,
}

/// The event of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happened {
    /// A process called the service.
    Called,
    /// The model was asked for an answer.
    Asked,
    /// The idempotent tool took effect.
    Charged,
    /// The verifiable tool took effect.
    Transferred,
    /// The first tool without a class took effect.
    Mailed,
    /// The second tool without a class took effect.
    Noted,
}

const NAMES: [(Happened, &str); 6] = [
    (Happened::Called, "called"),
    (Happened::Asked, "asked"),
    (Happened::Charged, "charged"),
    (Happened::Transferred, "transferred"),
    (Happened::Mailed, "mailed"),
    (Happened::Noted, "noted"),
];

impl fmt::Display for Happened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = NAMES.iter().find(|(event, _)| event == self).map_or("", |(_, name)| name);
        f.write_str(name)
    }
}

impl Line {
    /// Creates a line of process 0.
    pub fn new(order: &str, event: Happened, key: impl Into<String>) -> Self {
        Self { order: order.to_owned(), event, key: key.into(), process: 0 }
    }

    /// Sets the process that wrote the line.
    #[must_use]
    pub fn by(mut self, process: u32) -> Self {
        self.process = process;
        self
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { order, event, key, process } = self;
        write!(f, "{order} {event} {key} {process}")
    }
}

impl FromStr for Line {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut words = text.split(' ');
        let parsed = (|| {
            let (order, name, key) = (words.next()?, words.next()?, words.next()?);
            let (event, _) = NAMES.iter().find(|(_, known)| *known == name)?;
            let process = words.next()?.parse().ok()?;
            Some(Self::new(order, *event, key).by(process))
        })();
        parsed.ok_or_else(|| format!("incomplete line `{text}`"))
    }
}

/// The outside world.
#[async_trait]
pub trait Outside: Send + Sync {
    /// Adds a line. It is durable when the future ends.
    async fn write(&self, line: Line);

    /// Returns all lines of an order.
    async fn lines(&self, order: &str) -> Vec<Line>;

    /// A point at which the process may end.
    async fn point(&self, _name: &str) {}
}

/// An outside world in the memory of the process, for processes that are played by futures.
#[derive(Clone, Debug, Default)]
pub struct InMemoryOutside(Arc<Mutex<Vec<Line>>>);

impl InMemoryOutside {
    /// Returns all lines.
    pub fn all(&self) -> Vec<Line> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }
}

#[async_trait]
impl Outside for InMemoryOutside {
    async fn write(&self, line: Line) {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(line);
    }

    async fn lines(&self, order: &str) -> Vec<Line> {
        self.all().into_iter().filter(|line| line.order == order).collect()
    }
}
