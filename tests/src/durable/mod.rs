//! Durable turns against an outside world that remembers every effect.
//!
//! A turn has three rounds with six tool calls of all effect classes. Every attempt at an effect, and every answer of
//! the model, is a line in the log of the outside world. From the lines of an order and the stored conversation, the
//! [verdict](verdict::Verdict) says if an effect happened too often, if a result was lost, and if the model was
//! asked for an answer that was recorded.

pub mod client;
pub mod event;
pub mod group;
pub mod judgement;
pub mod ledger;
pub mod outside;
pub mod script;
pub mod till;
pub mod verdict;
pub mod watched_store;
