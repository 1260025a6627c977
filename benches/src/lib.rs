//! What the benchmarks measure, and the same work written by hand.
//!
//! Every case exists twice: [`workload`] does it with a service, [`by_hand`] with nothing but serde
//! and an HTTP client. A figure means something only next to its peer's.
//!
//! | bench | measures | run |
//! |---|---|---|
//! | `calls` | time | `cargo bench -p ai-services-benches --bench calls` |
//! | `protocols` | time of one exchange of each protocol, whole and streamed | `cargo bench -p ai-services-benches --bench protocols` |
//! | `stream` | time, processor time and allocations of a streamed token | `cargo bench -p ai-services-benches --bench stream` |
//! | `stores` | time of commits and loads in databases, beside rewriting the list | `cargo bench -p ai-services-benches --bench stores` |
//! | `search` | time of searches in memory, beside a loop and beside reading the same memory | `cargo bench -p ai-services-benches --bench search` |
//! | `ingestion` | time of cutting and ingesting documents | `cargo bench -p ai-services-benches --bench ingestion` |
//! | `guardrails` | time of the built-in guardrails | `cargo bench -p ai-services-benches --bench guardrails` |
//! | `instructions` | instructions, by callgrind | `cargo bench -p ai-services-benches --bench instructions` |
//! | `allocations` | heap allocations; fails above the budget | `cargo bench -p ai-services-benches --bench allocations` |
//!
//! Times of a busy machine are noise: there, compare instructions and allocations.
#![allow(clippy::unwrap_used, reason = "a benchmark that cannot be set up has nothing to measure")]

pub mod by_hand;
pub mod exchange;
pub mod random;
pub mod rewrite;
pub mod server;
pub mod streaming;
pub mod workload;
