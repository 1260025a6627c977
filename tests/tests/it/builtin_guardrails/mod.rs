//! The built-in guardrails, each tested separately.

mod injection;
mod judge;
mod kit;
mod models;
mod texts;
