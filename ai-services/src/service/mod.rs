//! The engine behind every generated service. `invoke.rs` is the place to start reading.

mod ask;
mod builder;
mod check;
mod components;
mod conversations;
mod description;
mod form;
mod guards;
mod handle;
mod invocation;
mod invoke;
mod moderation;
mod opening;
mod recall;
mod response;
mod retrieval;
mod spent;
mod stream;
mod turn;
mod unfinished;
mod user_message;
mod watch;

pub use builder::{AiServiceBuilder, ChatModelGiven, MemoryGiven, ModerationGiven};
pub use components::ConcurrentCalls;
pub use description::{
    Arguments, DeclaredGuardrails, Given, Method, Missing, Optional, Required, Service,
};
pub use form::OutputStrategy;
pub use handle::AiService;
pub use opening::Remembered;
pub use response::{MethodReturn, Response, Returned};
pub use stream::{AnswerStream, PartialStream, StreamEvent, StreamReturn, TextStream};
pub use turn::RejectedAnswer;
pub use unfinished::UnfinishedTurn;
