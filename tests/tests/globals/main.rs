//! Tests that install or measure a thing of the whole process: loggers, subscribers, memory, environment.
//!
//! Each runs in a process of its own, see [`own_process`].
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests panic on failure"
)]

mod canary;
mod event_spans;
#[cfg(target_os = "linux")]
mod floods;
#[cfg(target_os = "linux")]
mod footprint;
mod own_process;
mod proxies;
mod rag_traces;
mod traces;
#[cfg(feature = "web-search")]
mod web_search_logs;
