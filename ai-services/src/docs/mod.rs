//! Guides: one page per topic, with examples that run.

/// Limits of calls and conversations: rounds, tokens, cost, time.
#[doc = include_str!("budgets.md")]
pub mod budgets {}

/// Loading, splitting, embedding and storing documents.
#[doc = include_str!("documents.md")]
pub mod documents {}

/// Turns that survive the end of their process, effect classes of tools, approval.
#[doc = include_str!("durable.md")]
pub mod durable {}

/// Index of the compile errors that the macros report.
#[doc = include_str!("errors.md")]
pub mod errors {}

/// Checks of messages and answers, and moderation.
#[doc = include_str!("guardrails.md")]
pub mod guardrails {}

/// Memories: conversations for each user, windows, stores, concurrent calls.
#[doc = include_str!("memory.md")]
pub mod memory {}

/// Events, tracing spans, token usage and cost.
#[doc = include_str!("observing.md")]
pub mod observing {}

/// Return types of methods, and how answers are parsed.
#[doc = include_str!("outputs.md")]
pub mod outputs {}

/// Services behind HTTP, for clients of OpenAI's protocols, of the AI SDK and of AG-UI.
// `ai-services-serve` tests the examples: they need axum.
#[cfg(all(feature = "serve", not(doctest)))]
#[cfg_attr(docsrs, doc(cfg(feature = "serve")))]
#[doc = include_str!("serving.md")]
pub mod serving {}

/// Answers that arrive piece by piece, and their events.
#[doc = include_str!("streaming.md")]
pub mod streaming {}

/// Retrieval-augmented generation: answers from your own texts, with sources.
#[doc = include_str!("retrieval.md")]
pub mod retrieval {}

/// Test doubles, scripted models, recordings, and test suites.
#[doc = include_str!("testing.md")]
pub mod testing {}
