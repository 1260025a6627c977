//! The parts that all clients share: connections, builders, request bodies, tolerant parsing and streams.
//! Nothing here depends on a provider. Clients of search engines use some of the parts, too.

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

pub(crate) mod arguments;
pub(crate) mod batches;
pub(crate) mod builder;
pub(crate) mod client;
pub(crate) mod connection;
pub(crate) mod encoded;
pub(crate) mod in_place;
pub(crate) mod json_object;
pub(crate) mod merge_roles;
#[cfg(any(feature = "anthropic", feature = "openai"))]
pub(crate) mod parallel_tool_calls;
pub(crate) mod raw_object;
pub(crate) mod replay;
pub(crate) mod request_body;
pub(crate) mod request_prefix;
pub(crate) mod schema_subset;
pub(crate) mod site;
pub(crate) mod stream;
pub(crate) mod tolerant;
pub(crate) mod tools;
