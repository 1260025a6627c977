//! The output of a process that handles orders: one line for each event.

use crate::turns::harness::acknowledge;
use ai_services::Error;
use std::fmt;
use std::io;
use std::str::FromStr;

/// An event of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Id of the conversation.
    pub customer: String,
    /// The order; `-` if it is not known.
    pub order: String,
    /// The state of the order.
    pub state: State,
}

/// The state of an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// The process calls the service.
    Began,
    /// The process has the answer.
    Done,
    /// The call failed: kind and text of the error.
    Failed(String),
}

impl Event {
    /// Creates an event.
    pub fn new(customer: &str, order: &str, state: State) -> Self {
        Self { customer: customer.to_owned(), order: order.to_owned(), state }
    }

    /// Writes the event to standard output.
    ///
    /// # Errors
    ///
    /// Fails if the output is closed.
    pub fn print(&self) -> io::Result<()> {
        let Self { customer, order, state } = self;
        acknowledge(customer, &format!("{order} {state}"))
    }
}

impl State {
    /// Creates the state of a call that failed.
    pub fn failed(error: &Error) -> Self {
        Self::Failed(format!("{:?}: {error}", error.kind()).replace('\n', " "))
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Began => f.write_str("began"),
            Self::Done => f.write_str("done"),
            Self::Failed(error) => write!(f, "failed {error}"),
        }
    }
}

impl FromStr for Event {
    type Err = anyhow::Error;

    fn from_str(line: &str) -> Result<Self, Self::Err> {
        let mut words = line.splitn(4, ' ');
        let parsed = (|| {
            let (customer, order) = (words.next()?, words.next()?);
            let state = match (words.next()?, words.next()) {
                ("began", None) => State::Began,
                ("done", None) => State::Done,
                ("failed", Some(error)) => State::Failed(error.to_owned()),
                _ => return None,
            };
            Some(Self::new(customer, order, state))
        })();
        parsed.ok_or_else(|| anyhow::anyhow!("invalid output of a process: {line}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ai_services::ErrorKind;

    #[test]
    fn event_round_trips_as_a_line() {
        let error = Error::new(ErrorKind::Conflict, "two\nlines");
        for state in [State::Began, State::Done, State::failed(&error)] {
            let event = Event::new("c", "o", state.clone());
            assert_eq!(format!("c o {state}").parse::<Event>().unwrap(), event);
        }
        for line in ["", "c o", "c o began now", "c o failed", "c o ended"] {
            assert!(line.parse::<Event>().is_err(), "{line}");
        }
    }
}
