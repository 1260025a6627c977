//! The engine of every generated service. Start reading at `invoke.rs`.

mod builder;
mod call;
mod checks;
mod components;
mod conversations;
mod description;
pub(crate) mod entry;
mod guardrail_context;
mod guards;
mod handle;
mod held_conversations;
mod history_summary;
mod invoke;
mod listeners;
mod memories;
mod memory_session;
mod method_plan;
mod method_tools;
mod model_call;
mod model_relay;
mod moderation;
mod output_plan;
mod preparation;
mod prepared_message;
mod prompts;
mod rejected_answer;
mod remembered;
mod response;
mod retrieval;
mod settings;
mod stream;
mod tool_events;
mod tool_loop;
mod turn;
mod unfinished_turn;
mod usage_and_cost;
mod user_message;

pub use builder::{AiServiceBuilder, ChatModelGiven, MemoryGiven, ModerationGiven};
pub use conversations::ConcurrentCalls;
pub use description::{
    Arguments, DeclaredGuardrails, DeclaredTools, Given, Method, Missing, Optional, Required,
};
pub use handle::{AiService, Service};
pub use output_plan::OutputStrategy;
pub use rejected_answer::RejectedAnswer;
pub use remembered::Remembered;
pub use response::{MethodError, MethodReturn, Response, Returned};
pub use stream::{AnswerStream, PartialStream, StreamEvent, StreamReturn, TextStream};
pub use unfinished_turn::UnfinishedTurn;
