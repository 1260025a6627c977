//! The workloads of the benchmarks, and the same work written by hand.
//!
//! Every case exists twice: [`workload`] uses a service, [`by_hand`] only serde
//! and an HTTP client. A figure is meaningful only in comparison with the figure of its peer.
//!
//! | bench | measures | run |
//! |---|---|---|
//! | `calls` | time | `cargo bench -p ai-services-benches --bench calls` |
//! | `protocols` | time of one exchange of each protocol, whole and streamed | `cargo bench -p ai-services-benches --bench protocols` |
//! | `stream` | time, processor time and allocations of a streamed token | `cargo bench -p ai-services-benches --bench stream` |
//! | `stores` | time of commits and loads in databases, compared to rewriting the list | `cargo bench -p ai-services-benches --bench stores` |
//! | `cold_loads` | time of loads that no cache answers, compared to reading rows with the driver | `cargo bench -p ai-services-benches --bench cold_loads` |
//! | `search` | time of searches in memory, compared to a loop and to reading the same memory | `cargo bench -p ai-services-benches --bench search` |
//! | `ingestion` | time of splitting and ingesting documents | `cargo bench -p ai-services-benches --bench ingestion` |
//! | `mcp` | time of a tool call of an MCP server, compared to the SDK's client | `cargo bench -p ai-services-benches --bench mcp` |
//! | `guardrails` | time of the built-in guardrails | `cargo bench -p ai-services-benches --bench guardrails` |
//! | `instructions` | instructions, by callgrind | `cargo bench -p ai-services-benches --bench instructions` |
//! | `allocations` | heap allocations; fails above the budget | `cargo bench -p ai-services-benches --bench allocations` |
//!
//! Times on a busy machine are noise; compare instructions and allocations there.
#![allow(clippy::unwrap_used, reason = "a benchmark whose setup fails cannot run")]

pub mod by_hand;
pub mod exchange;
pub mod random;
#[cfg(feature = "databases")]
pub mod rewrite;
#[cfg(feature = "databases")]
pub mod rows;
pub mod server;
pub mod streaming;
pub mod workload;
