//! Totals of a chat.

use crate::turn::TurnOutcome;
use ai_services::model::TokenUsage;
use std::fmt::{self, Write};

/// Number of turns and tool calls, and token usage, of a chat so far.
#[derive(Default)]
pub(crate) struct ChatTotals {
    usage: TokenUsage,
    turns: usize,
    tool_calls: usize,
    pub(crate) failed: usize,
    cancelled: usize,
}

impl ChatTotals {
    /// Adds a turn. Failed and cancelled turns also count, suspended turns do not.
    pub(crate) fn add(&mut self, turn: &TurnOutcome) {
        match turn {
            TurnOutcome::Answered { usage, tool_calls } => {
                self.turns += 1;
                self.usage += *usage;
                self.tool_calls += tool_calls;
            }
            // Counts when it ends.
            TurnOutcome::Suspended => {}
            TurnOutcome::Cancelled(usage) => {
                self.cancelled += 1;
                self.usage += *usage;
            }
            TurnOutcome::Failed(error) => {
                self.failed += 1;
                self.usage += error.usage().copied().unwrap_or_default();
            }
        }
    }
}

impl fmt::Display for ChatTotals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = |tokens: Option<u64>| tokens.map_or("unknown".to_owned(), |n| n.to_string());
        let mut turns = format!("{} answered", self.turns);
        for (number, outcome) in [(self.failed, "failed"), (self.cancelled, "cancelled")] {
            if number > 0 {
                write!(turns, ", {number} {outcome}")?;
            }
        }
        writeln!(f, "turns: {turns}")?;
        writeln!(f, "tool calls: {}", self.tool_calls)?;
        let TokenUsage { input, output, .. } = self.usage;
        write!(f, "tokens: {} in, {} out", count(input), count(output))
    }
}
