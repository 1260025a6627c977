//! The data of one call: its identity, the application's context, and the tools it ran.

mod call_id;
mod context;
mod execution;
mod memory_id;
mod request_id;
mod turn;
mod turn_id;

pub use call_id::CallId;
pub use context::InvocationContext;
pub use execution::ToolExecution;
pub(crate) use memory_id::check_memory_id;
pub use memory_id::{MemoryId, ToMemoryId};
pub use request_id::RequestId;
pub use turn::{TurnContext, TurnContextBuilder};
pub use turn_id::{InvalidTurnId, TurnId};
