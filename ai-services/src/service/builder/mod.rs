//! The builder of services.

mod limits;
mod parts;
mod requirements;
mod service_builder;
mod stages;

pub use requirements::{ChatModelGiven, MemoryGiven, ModerationGiven};
pub use service_builder::AiServiceBuilder;
