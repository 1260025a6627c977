//! What decides about the course of a turn.

use crate::error::{Error, ErrorKind, Result};
use crate::message::ToolCall;
use crate::service::spent::Prices;

/// How far a turn may go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Answers with tool calls in one turn.
    pub(crate) tool_rounds: usize,
    /// Tool calls in one answer.
    pub(crate) calls_per_answer: usize,
    /// Bytes of the arguments of one call.
    pub(crate) argument_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { tool_rounds: 32, calls_per_answer: 128, argument_bytes: 1024 * 1024 }
    }
}

/// What decides about the course of a turn.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rules<'a> {
    pub(crate) limits: Limits,
    /// The tool whose arguments are the answer.
    pub(crate) answer_tool: Option<&'a str>,
    /// How often the model is told what is wrong with its answer.
    pub(crate) output_retries: usize,
    /// Whether answers are checked before they are read.
    pub(crate) checks_answers: bool,
    /// How often the model is asked again because of these checks.
    pub(crate) check_retries: usize,
    /// What model calls cost.
    pub(crate) prices: Option<Prices<'a>>,
}

impl Limits {
    /// Whether these calls may run after so many rounds of others.
    pub(super) fn check(self, rounds: usize, calls: &[ToolCall]) -> Result<()> {
        let Self { tool_rounds, calls_per_answer, argument_bytes } = self;
        let exceeded = |what: String| Err(Error::new(ErrorKind::LimitExceeded, what));
        if rounds >= tool_rounds {
            return exceeded(format!(
                "the model still calls tools after {tool_rounds} rounds; raise `max_tool_rounds` if it needs more"
            ));
        }
        if calls.len() > calls_per_answer {
            return exceeded(format!(
                "the model called {} tools at once; at most {calls_per_answer} are allowed",
                calls.len()
            ));
        }
        if let Some(call) = calls.iter().find(|call| call.arguments().len() > argument_bytes) {
            return exceeded(format!(
                "the arguments of tool `{}` have {} bytes; at most {argument_bytes} are allowed",
                call.name(),
                call.arguments().len()
            ));
        }
        Ok(())
    }
}
