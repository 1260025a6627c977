//! The format of a cassette.
//!
//! The first line is the header. Each other line is an exchange: a request, the answer or the error, and the
//! pieces of a stream.

use super::wire_error::WireError;
use ai_services_core::combinators::canonical::{Answer, CAPABILITY_NAMES};
use ai_services_core::model::{Capabilities, ChatResponse, ModelStreamEvent, ToolCallDelta};
use ai_services_core::{BoxError, Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;

const FORMAT: &str = "ai-services cassette";
const VERSION: u32 = 1;

/// Header line: format, version, and the recorded model.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Header {
    format: Box<str>,
    version: u32,
    pub(super) model: Box<str>,
    capabilities: Vec<Box<str>>,
}

impl Header {
    pub(super) fn new(model: &str, capabilities: Capabilities) -> Self {
        let included =
            CAPABILITY_NAMES.iter().filter(|(capability, _)| capabilities.contains(*capability));
        Self {
            format: FORMAT.into(),
            version: VERSION,
            model: model.into(),
            capabilities: included.map(|(_, name)| (*name).into()).collect(),
        }
    }

    /// Returns the capabilities of the recorded model that this build supports.
    pub(super) fn capabilities(&self) -> Capabilities {
        let included = CAPABILITY_NAMES
            .iter()
            .filter(|(_, name)| self.capabilities.iter().any(|known| **known == **name));
        Capabilities::of(included.map(|(capability, _)| *capability))
    }

    /// Reads the header from the first line.
    pub(super) fn read(line: &str) -> Result<Self> {
        let header: Self = serde_json::from_str(line)
            .map_err(|source| corrupt(1, "not the header of a cassette", Some(source.into())))?;
        if *header.format != *FORMAT {
            return Err(corrupt(1, "not the header of a cassette", None));
        }
        match header.version {
            0..=VERSION => Ok(header),
            newer => Err(corrupt(
                1,
                format!("it has format version {newer}; this build reads up to {VERSION}"),
                None,
            )),
        }
    }
}

/// A request and its outcome.
#[derive(Debug)]
pub(super) struct Exchange {
    pub(super) line: usize,
    pub(super) request: Value,
    pub(super) outcome: Result<ChatResponse, WireError>,
    /// Pieces that a stream delivered before its end.
    pub(super) pieces: Vec<ModelStreamEvent>,
}

#[derive(Serialize, Deserialize)]
struct WireExchange {
    request: Value,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pieces: Vec<WirePiece>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    response: Option<Answer>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<WireError>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum WirePiece {
    Text(String),
    Thinking(String),
    ToolCall {
        index: usize,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<Box<str>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<Box<str>>,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        arguments: String,
    },
}

impl Exchange {
    /// Converts the exchange to JSON.
    pub(super) fn to_value(
        request: Value,
        outcome: &Result<ChatResponse>,
        pieces: Vec<ModelStreamEvent>,
    ) -> Result<Value> {
        let (response, error) = match outcome {
            Ok(response) => (Some(Answer(response.clone())), None),
            Err(error) => (None, Some(WireError::of(error))),
        };
        let pieces = pieces.into_iter().filter_map(WirePiece::of).collect();
        let wire = WireExchange { request, pieces, response, error };
        serde_json::to_value(wire).map_err(|source| {
            Error::new(ErrorKind::Configuration, "the exchange cannot be written as JSON")
                .with_source(source)
        })
    }

    fn read(line: usize, text: &str) -> Result<Self> {
        let wire: WireExchange = serde_json::from_str(text)
            .map_err(|source| corrupt(line, "not an exchange", Some(source.into())))?;
        let outcome = match (wire.response, wire.error) {
            (Some(Answer(response)), None) => Ok(response),
            (None, Some(error)) => Err(error),
            _ => return Err(corrupt(line, "it must have either `response` or `error`", None)),
        };
        if outcome.as_ref().is_err_and(|error| error.kind().is_none()) {
            return Err(corrupt(line, "this build does not know the kind of the error", None));
        }
        let pieces = wire.pieces.into_iter().map(ModelStreamEvent::from).collect();
        Ok(Self { line, request: wire.request, outcome, pieces })
    }
}

impl WirePiece {
    fn of(event: ModelStreamEvent) -> Option<Self> {
        Some(match event {
            ModelStreamEvent::Text(text) => Self::Text(text),
            ModelStreamEvent::Thinking(text) => Self::Thinking(text),
            ModelStreamEvent::ToolCall(ToolCallDelta { index, id, name, arguments, .. }) => {
                Self::ToolCall { index, id, name, arguments }
            }
            ModelStreamEvent::Completed(_) => return None,
        })
    }
}

impl From<WirePiece> for ModelStreamEvent {
    fn from(piece: WirePiece) -> Self {
        match piece {
            WirePiece::Text(text) => Self::Text(text),
            WirePiece::Thinking(text) => Self::Thinking(text),
            WirePiece::ToolCall { index, id, name, arguments } => {
                let mut delta = ToolCallDelta::new(index).with_arguments(arguments);
                (delta.id, delta.name) = (id, name);
                Self::ToolCall(delta)
            }
        }
    }
}

/// Reads a cassette.
pub(super) fn read(text: &str) -> Result<(Header, Vec<Exchange>)> {
    let mut lines = text.lines();
    let header = Header::read(lines.next().unwrap_or_default())?;
    let exchanges = lines.enumerate().filter(|(_, text)| !text.trim().is_empty());
    let exchanges = exchanges.map(|(index, text)| Exchange::read(index + 2, text));
    Ok((header, exchanges.collect::<Result<_>>()?))
}

/// The [detail](Error::detail) of the error of reading a malformed cassette.
///
/// # Examples
///
/// ```
/// use ai_services::combinators::{CorruptCassette, ReplayModel};
///
/// let error = ReplayModel::builder().read("{}").unwrap_err();
/// assert_eq!(error.detail::<CorruptCassette>().map(|corrupt| corrupt.line), Some(1));
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct CorruptCassette {
    /// Line number, counted from 1.
    pub line: usize,
    /// Description of the problem.
    pub problem: Box<str>,
    source: Option<BoxError>,
}

pub(super) fn corrupt(
    line: usize,
    problem: impl Into<Box<str>>,
    source: Option<BoxError>,
) -> Error {
    let corrupt = CorruptCassette { line, problem: problem.into(), source };
    let because = corrupt.source.as_ref().map(|source| format!(": {source}")).unwrap_or_default();
    Error::new(ErrorKind::Configuration, format!("{corrupt}{because}")).with_source(corrupt)
}

impl fmt::Display for CorruptCassette {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} of the cassette cannot be read: {}", self.line, self.problem)
    }
}

impl std::error::Error for CorruptCassette {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ai_services_core::model::Capability;

    fn message(text: &str) -> String {
        read(text).unwrap_err().to_string()
    }

    #[test]
    fn corrupt_lines_are_reported_with_their_number() {
        let header = serde_json::to_string(&Header::new("m", Capabilities::default())).unwrap();
        assert!(read(&header).unwrap().1.is_empty());
        assert!(message("").starts_with("line 1 of the cassette cannot be read: not the header"));
        let newer = header.replace("\"version\":1", "\"version\":2");
        assert!(message(&newer).ends_with("it has format version 2; this build reads up to 1"));
        assert!(message(&format!("{header}\n\n{{\"requ")).starts_with("line 3 of the cassette"));
        assert_eq!(
            message(&format!("{header}\n{{\"request\":{{}}}}")),
            "line 2 of the cassette cannot be read: it must have either `response` or `error`"
        );
        let odd = r#"{"request":{},"error":{"kind":"Odd","message":"x","retryable":false}}"#;
        assert!(message(&format!("{header}\n{odd}")).contains("line 2"));
    }

    #[test]
    fn capabilities_round_trip() {
        let some = Capabilities::of([Capability::Tools, Capability::Pdfs]);
        assert_eq!(Header::new("m", some).capabilities(), some);
    }
}
