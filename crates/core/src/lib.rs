//! The contracts and data of [`ai-services`](https://docs.rs/ai-services).
//!
//! Applications depend on `ai-services`, which re-exports everything public here under the same paths. A crate
//! that implements a model, a store, a guardrail or a retriever depends on this one: it has no HTTP client and
//! no database, and changes less often.
//!
//! | module | contract |
//! |---|---|
//! | [`model`] | chat, embedding, scoring and moderation models, their requests and responses |
//! | [`combinators`] | models that combine models: fallback, router, retry, rate limit, cache |
//! | [`message`] | messages and their contents |
//! | [`memory`] | chat memories, their stores and leases |
//! | [`store_kit`] | parts for implementers of stores |
//! | [`prompt`] | templates and their values |
//! | [`tool`], [`schema`] | tools and their JSON Schemas |
//! | [`approval`] | decisions about tool calls |
//! | [`output`] | typed answers |
//! | [`guardrail`] | checks of messages and answers |
//! | [`document`], [`embedding`] | documents, vectors and the stores of vectors |
//! | [`rag`] | retrieval and the default pipeline |
//! | [`answer`] | the values that methods return, and the events of a stream |
//! | [`event`], [`record`] | events of a call, and records of them |

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod answer;
pub mod approval;
mod boxed;
pub mod combinators;
pub mod document;
pub mod embedding;
mod error;
pub mod event;
mod forward;
#[cfg(feature = "_fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
pub mod guardrail;
mod http_status;
mod invocation;
pub mod memory;
pub mod message;
pub mod model;
pub mod output;
pub mod prompt;
pub mod rag;
mod random;
pub mod record;
#[doc(hidden)]
pub mod redaction;
pub mod schema;
pub mod store_kit;
#[cfg(feature = "testing")]
pub mod testing;
#[cfg(feature = "_rustls")]
#[doc(hidden)]
pub mod tls;
pub mod tool;
#[doc(hidden)]
pub mod trace;
mod usage;

#[doc(hidden)]
pub use boxed::boxed;
pub use error::{BoxError, Error, ErrorKind, Result};
pub use invocation::{InvocationContext, TurnContext, TurnContextBuilder};
pub use tool::Tool;

/// Attribute for implementations of the traits of this crate with async methods.
pub use async_trait::async_trait;
