//! The interface to models: requests, responses, parameters and capabilities.

mod attempts;
mod body_observer;
mod cached_copy;
mod capabilities;
mod chat;
mod cost;
mod embedding;
mod endpoint;
mod moderation;
mod parameters;
mod price;
mod request;
mod response;
mod scoring;
mod tool;

pub use crate::usage::{TokenUsage, UsageMeter};
pub use attempts::{FailedAttempt, FailedAttempts, ModelUsage};
#[doc(hidden)]
pub use body_observer::{BodyObserver, observe_bodies, report_body};
#[doc(hidden)]
pub use cached_copy::{CachedCopy, DiscardCopy};
pub use capabilities::{Capabilities, Capability};
pub use chat::{ChatModel, ModelStreamEvent, ToolCallDelta};
#[doc(hidden)]
pub use chat::{in_one_piece, pieces};
pub use cost::{Cost, IncurredCost};
pub use embedding::{EmbeddingModel, EmbeddingPurpose, Embeddings};
pub use endpoint::ModelEndpoint;
pub use moderation::{Moderation, ModerationModel};
pub use parameters::{ChatRequestParameters, ReasoningEffort, ResponseFormat, ToolChoice};
pub use price::{Price, PriceTable};
pub use request::{ChatRequest, ChatRequestBuilder};
pub use response::{AnswerOrigin, ChatResponse, FinishReason, PartialAnswer};
pub use scoring::{Scores, ScoringModel};
pub use tool::{ToolLoading, ToolSpecification, ToolSpecifications};
