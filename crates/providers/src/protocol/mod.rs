//! What the clients have in common: how they reach their servers, put requests together, read what comes,
//! and drive streams. Knows no provider. Clients of search engines, which are no providers of models, use
//! some of it.

#![cfg_attr(
    not(all(
        feature = "openai",
        feature = "anthropic",
        feature = "gemini",
        feature = "ollama",
        feature = "cohere"
    )),
    allow(dead_code, unused_imports, unused_macros, reason = "not every client needs all of it")
)]

pub(super) mod arguments;
pub(super) mod batches;
pub(crate) mod connection;
pub(super) mod fields;
pub(super) mod frames;
pub(super) mod groups;
pub(crate) mod lenient;
pub(crate) mod members;
pub(super) mod replay;
pub(super) mod stream;
