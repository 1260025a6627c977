//! Integration tests: each asserts what the model was sent, what was remembered, what was returned.

mod limits;
mod memory;
mod moderation;
mod prompts;
mod tools;
