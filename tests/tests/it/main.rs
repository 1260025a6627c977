//! Tests of the facade: AI services, model combinators, outputs, guardrails, the layout of the sources, the examples.
//!
//! Each test of a service asserts the request that the model received, the stored conversation, or the answer.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests panic on failure"
)]

mod answers;
mod architecture;
mod assistant;
mod budgets;
mod built_in;
mod builtin_guardrails;
mod call_ids;
mod checked_streams;
mod combinators;
mod concurrency;
mod conformance;
mod desk;
mod durable;
mod empty_messages;
mod events;
mod features;
mod fuzz_corpus;
mod guardrails;
pub mod hygiene;
mod interrupted;
mod invariants;
mod journal;
mod kept_memories;
mod langchain4j;
mod language;
mod leases;
mod limits;
mod listener_panics;
mod memory;
mod method_tools;
mod moderation;
mod multimodal;
mod nested;
mod outputs;
mod pipeline;
mod prompts;
mod public_paths;
mod recording;
mod reentrancy;
mod requests;
mod retrieval;
mod retrieval_faults;
mod stopped_tools;
mod streaming;
mod summaries;
mod template_values;
mod tool_declarations;
mod tool_effects;
mod tool_loop;
mod tool_names;
mod tool_search;
mod tool_signals;
mod tools;
mod verdicts;
mod withheld;
