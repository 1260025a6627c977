//! Integration tests: each asserts what the model was sent, what was remembered, what was returned.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that fails panics"
)]

mod answers;
mod built_in;
mod checked_streams;
mod concurrency;
mod desk;
mod events;
mod guardrails;
mod interrupted;
mod invariants;
mod journal;
mod leases;
mod limits;
mod memory;
mod moderation;
mod multimodal;
mod pipeline;
mod prompts;
mod retrieval;
mod retrieval_faults;
mod streaming;
mod tool_loop;
mod tools;
mod verdicts;
mod withheld;
