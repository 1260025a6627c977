//! Declare an AI assistant as a trait; a macro generates the implementation.
//!
//! ```
//! use ai_services::memory::{MemoryId, MessageWindowChatMemory};
//! # use ai_services::testing::ScriptedChatModel;
//! use ai_services::{ai_service, tools};
//!
//! struct Bookings;
//!
//! #[tools]
//! impl Bookings {
//!     /// Cancels a booking.
//!     #[tool]
//!     async fn cancel_booking(
//!         &self,
//!         #[memory_id] customer: &MemoryId,
//!         /// The booking number, for example `123-456`.
//!         booking_number: String,
//!     ) -> Result<String, String> {
//!         Ok(format!("{booking_number} of {customer} is cancelled"))
//!     }
//! }
//!
//! #[ai_service]
//! #[system_message("You are a support agent of {{company}}. Today is {{current_date}}.")]
//! pub trait Support {
//!     async fn chat(
//!         &self,
//!         #[memory_id] customer: &str,
//!         #[v] company: &str,
//!         #[user_message] message: &str,
//!     ) -> ai_services::Result<String>;
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> ai_services::Result<()> {
//! # let model = ScriptedChatModel::replies(["Done."]);
//! let support = SupportService::builder()
//!     .chat_model(model) // for example `OpenAiChatModel::from_env()?`
//!     .chat_memory_provider(|id| {
//!         MessageWindowChatMemory::builder().id(id).max_messages(20).build()
//!     })
//!     .tools(Bookings)
//!     .build()?;
//! let answer = support.chat("klaus", "Miles of Smiles", "Cancel my booking 123-456.").await?;
//! # assert_eq!(answer, "Done.");
//! # Ok(())
//! # }
//! ```
//!
//! The macros check the trait at compile time: a misspelled `{{placeholder}}`, a parameter that is not used
//! in any template, a tool without a description or a `#[memory_id]` without a memory provider does not
//! compile.
//! [`docs::errors`] lists all messages.
//!
//! # Installation
//!
//! ```sh
//! cargo add ai-services
//! cargo add tokio --features macros,rt-multi-thread
//! ```
//!
//! The [features](#features) select providers, stores and loaders of documents. Types of your own in answers and
//! tool parameters derive `serde::Deserialize` and `schemars::JsonSchema`:
//!
//! ```sh
//! cargo add serde --features derive
//! cargo add schemars
//! ```
//!
//! The crate re-exports [`serde`] 1 and [`schemars`] 1, so that the derives also work
//! [without these two dependencies](docs::outputs#derives). Tests need the feature `testing`:
//!
//! ```sh
//! cargo add --dev ai-services --features testing
//! ```
//!
//! # Where to start
//!
//! | goal | documentation |
//! |---|---|
//! | Declare a service | [`ai_service`](macro@ai_service) |
//! | Return more than text | [`docs::outputs`], [`output`] |
//! | Stream an answer | [`docs::streaming`], [`AnswerStream`] |
//! | Add tools | [`tools`](macro@tools), [`tool`](mod@tool) |
//! | Use a service as a tool | [Services as tools](macro@tools#services-as-tools) |
//! | Use MCP servers, or be one | `mcp` (feature `mcp`) |
//! | Serve a service over HTTP | `docs::serving`, `serve` (feature `serve`) |
//! | See a service at work in a web page | `playground` (feature `playground`) |
//! | Configure and build a service | [`AiServiceBuilder`] |
//! | Give each user a memory | [`docs::memory`], [`memory`] |
//! | Answer from documents, a database or the web | [`docs::retrieval`], [`rag`] |
//! | Load, split and store documents | [`docs::documents`], [`document`], [`ingestion`], [`embedding`] |
//! | Check messages and answers | [`docs::guardrails`], [`guardrail`] |
//! | Moderate messages and answers | [Moderation](docs::guardrails#moderation) |
//! | Store conversations in a database | [`store`] (features `sqlite`, `postgres`, `redis`, `cassandra`) |
//! | Choose a model | [`providers`], [`model`] |
//! | Fall back, route, retry, limit rates, cache, record | [`combinators`] |
//! | Test without a network | [`docs::testing`], `testing` (feature `testing`) |
//! | Limit rounds, tokens, cost and time | [`docs::budgets`], [`Budget`] |
//! | Observe calls, usage and cost | [`docs::observing`], [`event`], [`record`] |
//! | Export traces and metrics | `otel` (feature `otel`) |
//!
//! # Guarantees of a call
//!
//! * Every request is well-formed: an optional system message, whole turns, the current turn.
//! * A turn is stored whole or not at all. A call that fails, or whose future or stream is dropped, stores
//!   nothing, unless its commit was already under way: then it is unknown whether the turn was stored. The
//!   error is then [`ErrorKind::UnknownOutcome`], the turn is not run again, and
//!   [`commit_state`](memory::ChatMemoryStore::commit_state) finds out.
//! * Calls for one memory id run one after the other, in the order in which they were made. Calls for
//!   different ids run in parallel.
//! * Text from users, tools, memory and documents is data: it is never parsed as a template.
//! * A message that an input guardrail rejects is not sent to the service's chat model. Tools run and streams
//!   deliver events only after moderation has accepted the message. Only accepted answers are stored.
//!
//! # Runtime
//!
//! The crate runs on Tokio. It spawns a task for one purpose only: to release a lease. Tools need a runtime
//! with time enabled; clients of providers and databases need one with time and I/O enabled, as created by
//! `#[tokio::main]`.
//!
//! # Features
//!
//! | feature | adds | default |
//! |---|---|---|
//! | `openai` | OpenAI: chat completions (and compatible servers), responses, embeddings, moderation | yes |
//! | `ollama` | Ollama's own protocol: chat, embeddings, list of installed models | yes |
//! | `anthropic` | Anthropic's Messages API | no |
//! | `gemini` | Google Gemini: chat, embeddings | no |
//! | `cohere` | Cohere: re-ranking (and compatible servers), embeddings | no |
//! | `web-search` | search engines for retrieval: Tavily (and compatible servers), SearXNG | no |
//! | `http` | `fetch_media` and the HTTP client, without a provider; part of every provider and of `web-search` | yes |
//! | `rustls` | TLS with rustls and ring | yes |
//! | `native-tls` | TLS with the system's library | no |
//! | `tiktoken` | exact token counts for OpenAI models | yes |
//! | `sqlite`, `postgres`, `redis`, `cassandra` | a store for conversations in that database; `sqlite` and `postgres` also for embeddings | no |
//! | `mcp` | tools of MCP servers, and an MCP server for tools and services | no |
//! | `mcp-auth` | OAuth for MCP servers: `mcp::OAuth` | no |
//! | `serve` | HTTP endpoints for services: OpenAI's protocols, the AI SDK, AG-UI | no |
//! | `playground` | a local web page that shows services at work, for developers | no |
//! | `otel` | OpenTelemetry: metrics, lists and opt-in content for the spans | no |
//! | `html`, `pdf` | loading documents of that type | no |
//! | `uuid` | memory ids from `uuid::Uuid` | no |
//! | `testing` | test doubles, and test suites for your own stores and guardrails | no |
//!
//! Without default features the crate has no HTTP client and at most 40 third-party dependencies.

#![cfg_attr(docsrs, feature(doc_cfg))]

// Generated code refers to the crate by its external name, also in the crate's own tests.
extern crate self as ai_services;

#[doc(hidden)]
pub mod __private;
pub mod combinators;
pub mod docs;
pub mod document;
pub mod embedding;
pub mod guardrail;
pub mod providers;
pub mod rag;
pub mod service;
pub mod store;
#[cfg(feature = "testing")]
#[cfg_attr(docsrs, doc(cfg(feature = "testing")))]
pub mod testing;

#[doc(inline)]
pub use ai_services_core::{
    BoxError, Error, ErrorKind, InvocationContext, Result, TurnContext, TurnContextBuilder,
    approval, event, memory, message, model, output, prompt, record, schema, tool,
};

#[doc(inline)]
pub use ai_services_documents::ingestion;

#[cfg(feature = "mcp")]
#[cfg_attr(docsrs, doc(cfg(feature = "mcp")))]
#[doc(inline)]
pub use ai_services_mcp as mcp;

#[cfg(feature = "otel")]
#[cfg_attr(docsrs, doc(cfg(feature = "otel")))]
#[doc(inline)]
pub use ai_services_otel as otel;

#[cfg(feature = "playground")]
#[cfg_attr(docsrs, doc(cfg(feature = "playground")))]
#[doc(inline)]
pub use ai_services_playground as playground;

#[cfg(feature = "serve")]
#[cfg_attr(docsrs, doc(cfg(feature = "serve")))]
#[doc(inline)]
pub use ai_services_serve as serve;

#[cfg(feature = "_fuzzing")]
#[doc(hidden)]
pub mod fuzzing {
    pub use ai_services_core::fuzzing::*;
    #[cfg(any(
        feature = "openai",
        feature = "anthropic",
        feature = "gemini",
        feature = "ollama"
    ))]
    pub use ai_services_providers::fuzzing::*;
}

pub use service::{
    AiService, AiServiceBuilder, AnswerStream, Budget, BudgetExceeded, BudgetLimit, BudgetScope,
    ConcurrentCalls, DurableTurns, OnOpenTurn, OpenTurns, Outcome, OutputStrategy, Recovery,
    Remembered, Response, ResumedTurn, StreamEvent, UnfinishedTurn,
};
pub use tool::Tool;

#[doc(inline)]
pub use ai_services_core::async_trait;
use ai_services_core::boxed;

// The crates of the derives for typed answers and tool parameters; see `docs::outputs`.
#[doc(no_inline)]
pub use {schemars, serde};

#[doc = include_str!("docs/ai_service.md")]
pub use ai_services_macros::ai_service;

#[doc = include_str!("docs/tools.md")]
pub use ai_services_macros::tools;

/// Turns a method in a [`#[tools]`](macro@tools) block, or a free function, into a tool.
///
/// The arguments are listed at [`tools`](macro@tools).
///
/// For a free function the macro also generates a type with the function's name; `tool()` of this type
/// returns the tool:
///
/// ```
/// use ai_services::tool;
///
/// /// Adds two numbers.
/// #[tool]
/// fn add(a: i64, b: i64) -> i64 {
///     a + b
/// }
///
/// assert_eq!(add(1, 2), 3);
/// assert_eq!(add::tool().name(), "add"); // for `.tools(add::tool())`
/// ```
pub use ai_services_macros::tool;

/// Checks that public types can be shared between threads.
const _: fn() = || {
    fn assert_thread_safe<T: Send + Sync + 'static>() {}
    assert_thread_safe::<AiService>();
    assert_thread_safe::<Error>();
    assert_thread_safe::<Tool>();
    assert_thread_safe::<message::ChatMessage>();
    assert_thread_safe::<model::ChatRequest>();
    assert_thread_safe::<Response<String>>();
};
