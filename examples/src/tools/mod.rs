//! Tools of the assistant: a calculator, a clock and notes for each user.

mod calculator;
mod notes;

use ai_services::memory::MemoryId;
use ai_services::tools;
use calculator::CalculatorError;
use jiff::Zoned;
use notes::{Note, NoteError, Notes};

/// The tools and their state. The tools that change notes are not repeated if their result is lost.
#[derive(Default)]
pub(crate) struct Desk {
    notes: Notes,
}

#[tools]
impl Desk {
    /// Calculates exactly. Supports + - * / ^ ! mod, parentheses, percentages, sqrt, cbrt, abs, floor,
    /// ceil, round, exp, ln, log (base 10), sin, cos, tan, pi and e.
    #[tool(read_only)]
    fn calculate(
        &self,
        /// The expression, for example `12 * 31`, `17% of 340` or `sqrt(2)^3`.
        expression: &str,
    ) -> Result<String, CalculatorError> {
        calculator::calculate(expression)
    }

    /// Returns the local date, time, day of the week and time zone.
    #[tool(read_only)]
    fn current_date_time(&self) -> String {
        Zoned::now().strftime("%A, %Y-%m-%d %H:%M:%S %Z").to_string()
    }

    /// Stores a note for the user until the program exits, and returns it with its number.
    #[tool]
    fn add_note(
        &self,
        #[memory_id] user: &MemoryId,
        /// The note, in one sentence.
        text: &str,
    ) -> Result<Note, NoteError> {
        self.notes.add(user, text)
    }

    /// Lists the user's notes with their numbers.
    #[tool(read_only)]
    fn list_notes(&self, #[memory_id] user: &MemoryId) -> Vec<Note> {
        self.notes.list(user)
    }

    /// Deletes one of the user's notes, and returns it.
    #[tool]
    fn forget_note(
        &self,
        #[memory_id] user: &MemoryId,
        /// The number of the note, from `list_notes`.
        number: u32,
    ) -> Result<Note, NoteError> {
        self.notes.forget(user, number)
    }
}
