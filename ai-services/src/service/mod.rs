//! The engine behind every generated service. [`invoke`] is the place to start reading.

mod builder;
mod components;
mod conversations;
mod description;
mod handle;
mod invocation;
mod invoke;
mod moderation;
mod recall;
mod response;
mod turn;

pub use builder::{AiServiceBuilder, ChatModelGiven, MemoryGiven, ModerationGiven};
pub use components::ConcurrentCalls;
pub use description::{Arguments, Given, Method, Missing, Optional, Required, Service};
pub use handle::AiService;
pub use response::{MethodReturn, Response, Returned};
pub use turn::UnfinishedTurn;

pub(crate) use handle::call;
