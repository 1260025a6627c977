//! The rules of a turn.

use crate::message::ToolCall;
use crate::service::usage_and_cost::Prices;
use crate::{Error, ErrorKind, Result};

/// Limits of the tool calls of a turn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ToolCallLimits {
    /// Largest number of responses with tool calls in one turn.
    pub(crate) tool_rounds: usize,
    /// Largest number of tool calls in one response.
    pub(crate) calls_per_answer: usize,
    /// Largest size of the arguments of one call, in bytes.
    pub(crate) argument_bytes: usize,
}

impl Default for ToolCallLimits {
    fn default() -> Self {
        Self { tool_rounds: 32, calls_per_answer: 128, argument_bytes: 1024 * 1024 }
    }
}

/// The rules that decide on the next step of a turn.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rules<'a> {
    pub(crate) limits: ToolCallLimits,
    /// The tool whose arguments are the answer.
    pub(crate) answer_tool: Option<&'a str>,
    /// Largest number of retries because of answers that cannot be parsed.
    pub(crate) output_retries: usize,
    /// `true` if answers are checked before they are parsed.
    pub(crate) checks_answers: bool,
    /// Largest number of retries because of these checks.
    pub(crate) check_retries: usize,
    /// The prices of model calls.
    pub(crate) prices: Option<Prices<'a>>,
}

impl ToolCallLimits {
    /// Checks the tool calls of a response, after `rounds` earlier responses with tool calls.
    ///
    /// # Errors
    ///
    /// If a limit is exceeded.
    pub(super) fn check(self, rounds: usize, calls: &[ToolCall]) -> Result<()> {
        let Self { tool_rounds, calls_per_answer, argument_bytes } = self;
        let exceeded = |message: String| Err(Error::new(ErrorKind::LimitExceeded, message));
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
