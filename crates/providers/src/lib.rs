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
mod fetch;
#[cfg(all(
    feature = "_fuzzing",
    any(feature = "openai", feature = "anthropic", feature = "gemini", feature = "ollama")
))]
#[doc(hidden)]
pub mod fuzzing;
mod http;
#[cfg(feature = "_provider")]
mod protocol;
#[cfg(feature = "web-search")]
pub mod web_search;

#[cfg(any(feature = "openai", feature = "anthropic", feature = "gemini", feature = "ollama"))]
pub use any::{ModelName, any_model};
pub use fetch::{FetchHosts, FetchLimits, fetch_media};
#[cfg(feature = "_provider")]
pub use protocol::replay::ThinkingReplay;

use ai_services_core::Result;

/// The HTTP library of the clients.
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
/// [`ErrorKind::Configuration`](ai_services_core::ErrorKind::Configuration) if TLS cannot be set up.
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
pub fn http_client_builder() -> Result<reqwest::ClientBuilder> {
    http::client_builder(http::Tls::Wanted)
}
