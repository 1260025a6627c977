//! Runtime of ai-services.
#![allow(missing_docs)]
extern crate self as ai_services;
#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;
mod error;
pub mod event;
#[cfg(feature = "http")]
mod http;
mod invocation;
pub mod memory;
pub mod message;
pub mod model;
pub mod output;
pub mod prompt;
pub mod providers;
pub mod schema;
pub mod service;
#[cfg(feature = "testing")]
pub mod testing;
pub mod tool;
mod usage;

pub use ai_services_macros::{ai_service, tool, tools};
pub use async_trait::async_trait;
pub use error::{BoxError, Error, ErrorKind, Result};
pub use invocation::InvocationContext;
pub use service::{AiService, AiServiceBuilder, ConcurrentCalls, Response, UnfinishedTurn};
pub use tool::Tool;
