//! Clients of model providers, each behind a feature of its own name.

#[cfg(feature = "openai")]
pub mod openai;

/// The HTTP library of the clients, for a [`Client`](reqwest::Client) of your own.
#[cfg(feature = "http")]
pub use reqwest;
