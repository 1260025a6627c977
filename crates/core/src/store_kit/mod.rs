//! Chat memories and embeddings in databases, each behind a feature of its name.
//!
//! A store of chat memories keeps one row for each message and one head for each conversation, and implements
//! [`ChatMemoryStore::load`](crate::memory::ChatMemoryStore::load) and
//! [`commit`](crate::memory::ChatMemoryStore::commit) itself: a turn writes only its own messages, in
//! one atomic step, and only if nobody else has changed the conversation since it was loaded. A commit
//! that breaks off with the connection is tried again without being made twice.
//!
//! | store | feature | for |
//! |---|---|---|
#![cfg_attr(
    feature = "sqlite",
    doc = "| [`sqlite::SqliteChatMemoryStore`] | `sqlite` | one machine, any number of processes; no server |"
)]
#![cfg_attr(
    feature = "postgres",
    doc = "| [`postgres::PostgresChatMemoryStore`] | `postgres` | many machines; durable once committed |"
)]
#![cfg_attr(
    feature = "redis",
    doc = "| [`redis::RedisChatMemoryStore`] | `redis` | many machines, speed, conversations that expire |"
)]
#![cfg_attr(
    feature = "cassandra",
    doc = "| [`cassandra::CassandraChatMemoryStore`] | `cassandra` | many data centres |"
)]
//!
//! All of them implement [`ConversationStore`](crate::memory::ConversationStore), can
//! [keep what a window evicts](crate::memory::EvictedMessages), and give
//! [leases](crate::memory::ConversationLeases) if asked to. What all of them keep is guarded by
//! checksums: damage is an [`UnreadableRecord`](crate::memory::UnreadableRecord), never a wrong
//! message.
//!
//! Embeddings are kept beside them, in the same file or database or in another one:
//!
//! | store | feature | searches |
//! |---|---|---|
#![cfg_attr(
    feature = "sqlite",
    doc = "| [`sqlite::SqliteEmbeddingStore`] | `sqlite` | exactly, by reading all vectors: up to some 100,000; words by FTS5 |"
)]
#![cfg_attr(
    feature = "postgres",
    doc = "| [`postgres::PostgresEmbeddingStore`] | `postgres` | with pgvector, exactly or by an HNSW index; words by `tsvector` |"
)]

pub mod embeddings;
pub mod failpoint;
pub mod limits;
pub mod plan;
pub mod record;
pub mod time;
