//! The answer of a service's method: its value, the report of its turn, and the events of a stream.
//!
//! Applications find these types at the root of `ai_services`.

mod open_turns;
mod outcome;
mod rejected_answer;
mod response;
mod returned;
mod stream_event;

pub use open_turns::OpenTurns;
pub use outcome::Outcome;
pub use rejected_answer::RejectedAnswer;
pub use response::Response;
pub use returned::Returned;
pub use stream_event::StreamEvent;
