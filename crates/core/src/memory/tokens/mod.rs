//! Token counts of messages.

mod approximate;
mod estimator;
mod openai;
#[cfg(feature = "tiktoken")]
mod tiktoken;

pub use approximate::ApproximateCounter;
pub use estimator::{EstimatorId, TokenCountEstimator};
pub use openai::OpenAiFormula;
#[cfg(feature = "tiktoken")]
pub use tiktoken::TiktokenCounter;

pub(crate) use estimator::Counted;
