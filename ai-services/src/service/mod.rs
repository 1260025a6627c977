//! The engine behind every generated service. `invoke.rs` is the place to start reading.

mod ask;
mod builder;
mod components;
mod conversations;
mod description;
mod form;
mod handle;
mod invocation;
mod invoke;
mod moderation;
mod recall;
mod response;
mod spent;
mod stream;
mod turn;
mod unfinished;
mod user_message;

pub use builder::{AiServiceBuilder, ChatModelGiven, MemoryGiven, ModerationGiven};
pub use components::ConcurrentCalls;
pub use description::{Arguments, Given, Method, Missing, Optional, Required, Service};
pub use form::OutputStrategy;
pub use handle::AiService;
pub use response::{MethodReturn, Response, Returned};
pub use stream::{PartialStream, StreamEvent, StreamReturn, TextStream, TokenStream};
pub use turn::RejectedAnswer;
pub use unfinished::UnfinishedTurn;
