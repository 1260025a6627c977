//! Integration tests: each asserts what the model was sent, what was remembered, what was returned.

mod concurrency;
mod events;
mod invariants;
mod limits;
mod memory;
mod moderation;
mod prompts;
mod tools;
mod traces;
