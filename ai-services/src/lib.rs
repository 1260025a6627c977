//! Declare an AI assistant as a trait; the implementation comes from a macro.
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
//!     .chat_memory_provider(|id: &MemoryId| {
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
//! A misspelt `{{placeholder}}`, a parameter that no template uses, a tool without a description, a
//! `#[memory_id]` without a memory provider: none of them compiles. [`docs::errors`] lists every
//! message.
//!
//! # Where to start
//!
//! | to | read |
//! |---|---|
//! | declare a service | [`ai_service`](macro@ai_service) |
//! | return more than text | [`docs::outputs`], [`output`] |
//! | stream an answer | [`docs::streaming`], [`AnswerStream`] |
//! | give it tools | [`tools`](macro@tools), [`tool`](mod@tool) |
//! | build it | [`AiServiceBuilder`] |
//! | choose what it remembers | [`memory`] |
//! | answer from documents, a database or the web | [`docs::retrieval`], [`rag`] |
//! | load, cut and store documents | [`docs::documents`], [`document`], [`ingestion`], [`embedding`] |
//! | check what goes in and what comes out | [`docs::guardrails`], [`guardrail`] |
//! | have messages and answers moderated | [Moderation](docs::guardrails#moderation) |
//! | keep it in a database | `store` (features `sqlite`, `postgres`, `redis`, `cassandra`) |
//! | choose who answers | [`providers`], [`model`] |
//! | fall back, route, retry, limit, cache, record | [`combinators`] |
//! | test it without a network | `testing` (feature `testing`) |
//! | see what it does | [`event`], and `tracing` spans with the names of OpenTelemetry's conventions for generative AI |
//!
//! # What a call promises
//!
//! * Every request is well formed: a system message if there is one, whole turns, the current turn.
//! * A turn is remembered as a whole or not at all. A call that fails, or whose future or stream is
//!   dropped, leaves the memory as it was.
//! * Calls for one memory id run one after the other in the order of asking; calls for different
//!   ids run in parallel.
//! * Text from users, tools, memory and documents is data: it is never read as a template.
//! * Nothing is sent that an input guardrail rejects; no tool runs and no stream tells anything before
//!   moderation has passed the message; no answer is remembered that was not accepted.
//!
//! # Runtime
//!
//! The crate runs on Tokio and starts no tasks of its own but to give back a lease. Tools need a
//! runtime with time enabled, clients of providers and of databases one with time and I/O, as
//! `#[tokio::main]` makes it.
//!
//! # Features
//!
//! | feature | brings | default |
//! |---|---|---|
//! | `openai` | OpenAI: chat completions (and every compatible server), responses, embeddings, moderation | yes |
//! | `ollama` | Ollama's own protocol: chat, embeddings, the models that are there | yes |
//! | `anthropic` | Anthropic's messages | no |
//! | `gemini` | Google's Gemini: chat, embeddings | no |
//! | `cohere` | re-ranking and embeddings of Cohere, re-ranking of compatible servers | no |
//! | `web-search` | search engines for retrieval: Tavily and servers like it, SearXNG | no |
//! | `rustls` | TLS by rustls with ring | yes |
//! | `native-tls` | TLS by the system's library | no |
//! | `tiktoken` | exact token counts for OpenAI's models | yes |
//! | `sqlite`, `postgres`, `redis`, `cassandra` | a store for memories in that database | no |
//! | `html`, `pdf` | documents from files of that type | no |
//! | `uuid` | memory ids from `uuid::Uuid` | no |
//! | `testing` | doubles for tests; checks for a store of your own | no |
//!
//! Without default features the crate has no HTTP and fewer than 35 dependencies.

#![cfg_attr(docsrs, feature(doc_cfg))]

// Generated code names the crate from outside; in the crate's own tests that is here.
extern crate self as ai_services;

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;
pub mod docs;
pub mod service;

mod error {
    pub(crate) use ai_services_core::{BoxError, Error, ErrorKind, Result};
}
mod invocation {
    pub(crate) use ai_services_core::__private::ToolExecution;
    pub(crate) use ai_services_core::memory::{MemoryId, ToMemoryId};
    pub(crate) use ai_services_core::{InvocationContext, TurnContext};
}

#[doc(inline)]
pub use ai_services_core::{
    BoxError, Error, ErrorKind, InvocationContext, Result, TurnContext, TurnContextBuilder, event,
    memory, message, model, output, prompt, schema, tool,
};

/// Models that combine models.
pub mod combinators {
    #[doc(inline)]
    pub use ai_services_core::combinators::*;
    #[cfg(feature = "testing")]
    #[doc(inline)]
    pub use ai_services_testkit::{
        CorruptCassette, ExistingCassette, NotRecorded, RecordingModel, RecordingModelBuilder,
        ReplayModel, ReplayModelBuilder, ReplayOrder, ReplayUse, WriteErrorPolicy,
    };
}

pub mod document {
    #[doc(inline)]
    pub use ai_services_core::document::*;
    #[doc(inline)]
    pub use ai_services_documents::{
        DirectoryLoader, DocumentSplitter, LoadError, LoadErrorKind, MarkdownSplitter,
        RecursiveSplitter, SplitterBuilder, TextMeasure, load_bytes, load_file, load_text,
    };
}

pub mod embedding {
    #[doc(inline)]
    pub use ai_services_core::embedding::*;
    #[doc(inline)]
    pub use ai_services_documents::{
        InMemoryEmbeddingStore, InMemoryEmbeddingStoreBuilder, UnreadableEmbeddings,
        UnreadableEmbeddingsProblem,
    };
}

pub mod guardrail {
    #[doc(inline)]
    pub use ai_services_core::guardrail::*;
    #[doc(inline)]
    pub use ai_services_guardrails::{
        InjectionSign, LanguageModelJudge, LanguageModelJudgeBuilder, Placeholders,
        PromptInjectionPatterns, Redaction, SensitiveKind, StreamingRedaction,
    };
}

#[doc(inline)]
pub use ai_services_documents::ingestion;

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

pub mod rag {
    #[doc(inline)]
    pub use ai_services_core::rag::*;

    pub mod web_search {
        #[doc(inline)]
        pub use ai_services_core::rag::web_search::*;
        #[cfg(feature = "web-search")]
        #[doc(inline)]
        pub use ai_services_providers::web_search::*;
    }
}

#[cfg(feature = "http")]
#[doc(inline)]
pub use ai_services_providers as providers;

pub mod store {
    #[cfg(feature = "cassandra")]
    #[doc(inline)]
    pub use ai_services_cassandra as cassandra;
    #[cfg(feature = "postgres")]
    #[doc(inline)]
    pub use ai_services_postgres as postgres;
    #[cfg(feature = "redis")]
    #[doc(inline)]
    pub use ai_services_redis as redis;
    #[cfg(feature = "sqlite")]
    #[doc(inline)]
    pub use ai_services_sqlite as sqlite;
}

#[cfg(feature = "testing")]
pub mod testing {
    #[doc(inline)]
    pub use ai_services_core::testing::*;
    #[doc(inline)]
    pub use ai_services_testkit::{embedding_stores, guardrails, stores};
}

pub use service::{
    AiService, AiServiceBuilder, AnswerStream, ConcurrentCalls, OutputStrategy, Remembered,
    Response, StreamEvent, UnfinishedTurn,
};
pub use tool::Tool;

#[doc(inline)]
pub use ai_services_core::async_trait;

#[doc = include_str!("docs/ai_service.md")]
pub use ai_services_macros::ai_service;

#[doc = include_str!("docs/tools.md")]
pub use ai_services_macros::tools;

/// Makes a method in a [`#[tools]`](macro@tools) block, or a free function, a tool.
///
/// The arguments are listed at [`tools`](macro@tools).
///
/// On a free function the macro adds a type of the same name beside it, whose `tool()` is the tool:
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

/// Everything public can cross threads.
const _: fn() = || {
    fn crosses_threads<T: Send + Sync + 'static>() {}
    crosses_threads::<AiService>();
    crosses_threads::<Error>();
    crosses_threads::<Tool>();
    crosses_threads::<message::ChatMessage>();
    crosses_threads::<model::ChatRequest>();
    crosses_threads::<Response<String>>();
};
