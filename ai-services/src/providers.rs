//! Clients of model providers, each behind a feature of its name.
//!
//! | module and feature | models |
//! |---|---|
//! | `openai` | chat (completions and responses API), embedding and moderation, for compatible servers too |
//! | `anthropic` | chat |
//! | `gemini` | chat and embedding |
//! | `ollama` | chat and embedding |
//! | `cohere` | embedding and scoring, for compatible servers too |
//!
//! Search engines are in [`rag::web_search`](crate::rag::web_search).
//!
//! # HTTP
//!
//! All clients share one HTTP layer:
//!
//! - **Retries.** A failed request is retried with back-off until the head of an answer arrives, never
//!   after it.
//! - **Timeouts.** Connecting, each attempt and the idle time of a stream are limited. A deadline for the
//!   whole call is optional.
//! - **Sizes.** Documents, streams and single events have a maximum size.
//! - **Back-pressure.** A stream is read only while it is polled.
//! - **Cancellation.** Dropping a call or a stream closes its connection.
//! - **Redirects** are not followed.
//! - **Proxies** of the system (`HTTPS_PROXY`, `NO_PROXY`, …) are used only by clients that read their key
//!   and server from the environment, too, and by clients with `system_proxies`.
//! - **Keys** do not appear in errors or in `Debug` output.

#[cfg(feature = "http")]
#[cfg_attr(docsrs, doc(cfg(feature = "http")))]
#[doc(inline)]
pub use ai_services_providers::{
    FetchHosts, FetchLimits, fetch_media, http_client_builder, reqwest,
};

#[cfg(feature = "anthropic")]
#[cfg_attr(docsrs, doc(cfg(feature = "anthropic")))]
#[doc(inline)]
pub use ai_services_providers::anthropic;
#[cfg(feature = "cohere")]
#[cfg_attr(docsrs, doc(cfg(feature = "cohere")))]
#[doc(inline)]
pub use ai_services_providers::cohere;
#[cfg(feature = "gemini")]
#[cfg_attr(docsrs, doc(cfg(feature = "gemini")))]
#[doc(inline)]
pub use ai_services_providers::gemini;
#[cfg(feature = "ollama")]
#[cfg_attr(docsrs, doc(cfg(feature = "ollama")))]
#[doc(inline)]
pub use ai_services_providers::ollama;
#[cfg(feature = "openai")]
#[cfg_attr(docsrs, doc(cfg(feature = "openai")))]
#[doc(inline)]
pub use ai_services_providers::openai;

#[cfg(any(feature = "openai", feature = "anthropic", feature = "gemini", feature = "ollama"))]
#[cfg_attr(
    docsrs,
    doc(cfg(any(
        feature = "openai",
        feature = "anthropic",
        feature = "gemini",
        feature = "ollama"
    )))
)]
#[doc(inline)]
pub use ai_services_providers::{ModelName, ThinkingReplay, any_model};
