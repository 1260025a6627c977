//! The engine of every generated service. Start reading at `invoke.rs`.

mod approval_settings;
mod approvals;
mod budget;
mod builder;
mod call;
mod checks;
mod components;
mod conversations;
mod description;
mod durable;
mod durable_turns;
pub(crate) mod entry;
mod guardrail_context;
mod guards;
mod handle;
mod held_conversations;
mod history_summary;
mod inherited;
mod invoke;
mod listeners;
mod memories;
mod memory_session;
mod method_plan;
mod method_tools;
mod model_call;
mod model_relay;
mod moderation;
pub(crate) mod nested;
mod observed_call;
mod offered_tools;
mod open_turn;
mod output_plan;
mod preparation;
mod prepared_message;
mod prompts;
mod remembered;
mod repeated_request;
mod response;
mod resume;
mod resumed_turn;
mod retrieval;
mod settings;
mod spent;
mod stream;
mod tool_events;
mod tool_loop;
mod turn;
mod unfinished_turn;
mod user_message;

pub use ai_services_core::answer::{
    OpenTurns, Outcome, RejectedAnswer, Response, Returned, StreamEvent,
};
pub use budget::{Budget, BudgetExceeded, BudgetLimit, BudgetScope};
pub use builder::{AiServiceBuilder, ChatModelGiven, MemoryGiven, ModerationGiven};
pub use conversations::ConcurrentCalls;
pub use description::{
    AnswerForm, Arguments, DeclaredGuardrails, DeclaredToolChoice, DeclaredTools, Given, Method,
    Missing, Optional, Required,
};
pub use durable_turns::{DurableTurns, OnOpenTurn};
pub use handle::{AiService, Service};
pub use output_plan::OutputStrategy;
pub use remembered::Remembered;
pub use response::{MethodError, MethodReturn};
pub use resume::Recovery;
pub use resumed_turn::ResumedTurn;
pub use stream::{AnswerStream, PartialStream, StreamReturn, TextStream};
pub use unfinished_turn::UnfinishedTurn;
