//! What a chat has cost.

use crate::turn::Ended;
use ai_services::model::TokenUsage;
use std::fmt::{self, Write};

/// What a chat has cost so far.
#[derive(Default)]
pub(crate) struct Spent {
    usage: TokenUsage,
    turns: usize,
    tool_calls: usize,
    pub(crate) failed: usize,
    cancelled: usize,
}

impl Spent {
    /// Adds a turn. One that was given up is paid for, too.
    pub(crate) fn add(&mut self, turn: &Ended) {
        match turn {
            Ended::Answered(response) => {
                self.turns += 1;
                self.usage += response.token_usage;
                self.tool_calls += response.tool_executions.len();
            }
            Ended::Cancelled(usage) => {
                self.cancelled += 1;
                self.usage += *usage;
            }
            Ended::Failed(error) => {
                self.failed += 1;
                self.usage += error.usage().copied().unwrap_or_default();
            }
        }
    }
}

impl fmt::Display for Spent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = |tokens: Option<u64>| tokens.map_or("unknown".to_owned(), |n| n.to_string());
        let mut turns = format!("{} answered", self.turns);
        for (number, how) in [(self.failed, "failed"), (self.cancelled, "cancelled")] {
            if number > 0 {
                write!(turns, ", {number} {how}")?;
            }
        }
        writeln!(f, "turns: {turns}")?;
        writeln!(f, "tool calls: {}", self.tool_calls)?;
        let TokenUsage { input, output, .. } = self.usage;
        write!(f, "tokens: {} in, {} out", count(input), count(output))
    }
}
