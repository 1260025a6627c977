//! Clients of model providers, each behind a feature of its own name.
//!
//! All share how they speak HTTP. A request is repeated until the head of an answer comes, never after
//! it; redirects are not followed; documents, streams and single events have a largest size; time is
//! limited for connecting, for an attempt, for the silence within a stream and, if asked for, for the
//! whole call. Answers are read as they are asked for, and dropping a call or a stream closes its
//! connection. Keys are in no error and no `Debug` output.

#[cfg(feature = "anthropic")]
pub mod anthropic;
#[cfg(feature = "cohere")]
pub mod cohere;
#[cfg(feature = "gemini")]
pub mod gemini;
#[cfg(feature = "ollama")]
pub mod ollama;
#[cfg(feature = "openai")]
pub mod openai;

#[cfg(any(feature = "openai", feature = "anthropic", feature = "gemini", feature = "ollama"))]
mod any;
#[cfg(feature = "http")]
mod fetch;
#[cfg(feature = "_provider")]
pub(crate) mod protocol;

#[cfg(any(feature = "openai", feature = "anthropic", feature = "gemini", feature = "ollama"))]
pub use any::{ModelName, any_model};
#[cfg(feature = "http")]
pub use fetch::{FetchHosts, FetchLimits, fetch_media};
#[cfg(feature = "_provider")]
pub use protocol::replay::ThinkingReplay;

#[cfg(feature = "http")]
use crate::error::Result;

/// The HTTP library of the clients.
#[cfg(feature = "http")]
pub use reqwest;

/// Starts an HTTP client as the clients of this crate use it: redirects off, 5 s for connecting,
/// the TLS backend of the crate's features with the system's certificates, no decompression.
///
/// For an application that wants several models to share connections, or a proxy or certificate of
/// its own. With the feature `rustls` this is also the way around installing a crypto provider,
/// without which [`reqwest::Client::new`] panics.
///
/// # Errors
///
/// [`ErrorKind::Configuration`](crate::ErrorKind::Configuration) if TLS cannot be set up.
///
/// # Examples
///
/// ```
/// use ai_services::providers::http_client_builder;
/// use ai_services::providers::openai::OpenAiChatModel;
///
/// let client = http_client_builder()?.pool_max_idle_per_host(4).build()?;
/// let local = OpenAiChatModel::builder().base_url("http://localhost:11434/v1").http_client(client);
/// let small = local.model("llama3.2").build()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[cfg(feature = "http")]
pub fn http_client_builder() -> Result<reqwest::ClientBuilder> {
    crate::http::client_builder(crate::http::Tls::Wanted)
}
