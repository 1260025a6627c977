//! The rules of a turn.

use crate::message::ToolCall;
use crate::{Error, ErrorKind, Result};

/// Limits of the tool calls of one response.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ToolCallLimits {
    /// Largest number of tool calls.
    pub(crate) calls_per_answer: usize,
    /// Largest size of the arguments of one call, in bytes.
    pub(crate) argument_bytes: usize,
}

impl Default for ToolCallLimits {
    fn default() -> Self {
        Self { calls_per_answer: 128, argument_bytes: 1024 * 1024 }
    }
}

/// The rules that decide on the next step of a turn.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rules<'a> {
    pub(crate) limits: ToolCallLimits,
    /// `true` if the model can be kept from calling tools.
    pub(crate) can_forbid_tools: bool,
    /// The tool whose arguments are the answer.
    pub(crate) answer_tool: Option<&'a str>,
    /// Largest number of retries because of answers that cannot be parsed.
    pub(crate) output_retries: usize,
    /// `true` if answers are checked before they are parsed.
    pub(crate) checks_answers: bool,
    /// Largest number of retries because of these checks.
    pub(crate) check_retries: usize,
}

impl ToolCallLimits {
    /// Checks the tool calls of a response.
    ///
    /// # Errors
    ///
    /// If a limit is exceeded.
    pub(super) fn check(self, calls: &[ToolCall]) -> Result<()> {
        let Self { calls_per_answer, argument_bytes } = self;
        let exceeded = |message: String| Err(Error::new(ErrorKind::LimitExceeded, message));
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
