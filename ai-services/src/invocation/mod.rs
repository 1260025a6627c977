//! What identifies one call: the memory id, and the application's data that travels with it.

mod context;
mod memory_id;

pub use context::InvocationContext;
pub use memory_id::{MemoryId, ToMemoryId};
