//! What the framework asks of a model: requests, responses, parameters, capabilities.

mod capabilities;
mod chat;
mod moderation;
mod parameters;
mod request;
mod response;
mod tool;

pub use crate::usage::TokenUsage;
pub use capabilities::{Capabilities, Capability};
#[cfg(feature = "openai")]
pub(crate) use chat::in_one_piece;
#[cfg(any(feature = "openai", feature = "testing"))]
pub(crate) use chat::pieces;
pub use chat::{ChatModel, StreamEvent, ToolCallDelta};
pub use moderation::{Moderation, ModerationModel};
pub use parameters::{ChatRequestParameters, ReasoningEffort, ResponseFormat, ToolChoice};
pub use request::{ChatRequest, ChatRequestBuilder};
pub use response::{ChatResponse, FinishReason, PartialAnswer};
pub use tool::{ToolSpecification, ToolSpecifications};
