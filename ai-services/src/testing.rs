//! Test doubles that need no network, and test suites for stores and guardrails.
//!
//! [`docs::testing`](crate::docs::testing) is a guide with examples.
//!
//! | to test | use |
//! |---|---|
//! | an AI service | [`ScriptedChatModel`] |
//! | retrieval | [`HashingEmbeddingModel`] |
//! | a chat memory store | [`stores`] |
//! | an embedding store | [`embedding_stores`] |
//! | a guardrail | [`guardrails`] |

#[doc(inline)]
pub use ai_services_core::testing::*;
#[doc(inline)]
pub use ai_services_testkit::{embedding_stores, guardrails, stores};
