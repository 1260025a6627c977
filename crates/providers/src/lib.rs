//! Clients of model providers and web search engines, each behind a feature.
//!
//! Part of [`ai-services`](https://docs.rs/ai-services), which re-exports the clients as
//! `ai_services::providers`, with a description of their HTTP layer, and the search engines as
//! `ai_services::rag::web_search`. The contracts are in [`ai_services_core::model`] and
//! [`ai_services_core::rag::web_search`].
//!
//! | module and feature | models |
//! |---|---|
//! | `openai` | chat (completions and responses API), embedding and moderation, for compatible servers too |
//! | `anthropic` | chat |
//! | `gemini` | chat and embedding |
//! | `ollama` | chat and embedding |
//! | `cohere` | embedding and scoring, for compatible servers too |
//! | `web_search`, feature `web-search` | the search engines Tavily and SearXNG |

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

/// The HTTP library of the clients, for [`http_client_builder`].
pub use reqwest;

/// Returns a builder of an HTTP client with the defaults of this crate.
///
/// The defaults: redirects off, no proxy, a connect timeout of 5 seconds, the TLS backend of the crate's
/// features with the system's certificates, no decompression. The environment is not read, except for
/// `SSL_CERT_FILE` and `SSL_CERT_DIR`, which replace the system's certificates on Linux.
///
/// Use it to share connections between several models, or to configure a proxy or a certificate. With
/// the feature `rustls`, this client needs no installed crypto provider; [`reqwest::Client::new`] panics
/// without one.
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
    http::client_builder(http::Tls::Preferred, http::Proxies::Explicit)
}
