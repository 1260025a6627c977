//! Runtime of ai-services.
#![allow(missing_docs)]
extern crate self as ai_services;
mod error;
#[cfg(feature = "http")]
mod http;
mod invocation;
pub mod memory;
pub mod message;
pub mod model;
pub mod prompt;
pub mod providers;
pub mod schema;
mod usage;

pub use async_trait::async_trait;
pub use error::{BoxError, Error, ErrorKind, Result};
pub use invocation::InvocationContext;
