//! Chat memories and embeddings in databases, each behind a feature of its name.
//!
//! A chat memory store keeps one row per message and one head per conversation. A turn writes only its own
//! messages, in one atomic step, and only if no other writer has changed the conversation since it was loaded
//! (optimistic locking). A commit whose connection breaks is retried; a log of the last 32 commits in the head
//! shows whether the first attempt was applied. If that stays unknown, the error has the kind
//! [`ErrorKind::UnknownOutcome`](crate::ErrorKind::UnknownOutcome), and
//! [`commit_state`](crate::memory::ChatMemoryStore::commit_state) finds out later.
//!
//! | store | feature | for |
//! |---|---|---|
//! | `sqlite::SqliteChatMemoryStore` | `sqlite` | one machine, any number of processes; no server |
//! | `postgres::PostgresChatMemoryStore` | `postgres` | many machines; durable once committed |
//! | `redis::RedisChatMemoryStore` | `redis` | many machines, speed, conversations that expire |
//! | `cassandra::CassandraChatMemoryStore` | `cassandra` | many data centres |
//!
//! All of them implement [`ConversationStore`](crate::memory::ConversationStore), can
//! [keep evicted messages](crate::memory::EvictedMessages), and offer
//! [leases](crate::memory::ConversationLeases). Checksums guard every stored message: damage is reported as an
//! [`UnreadableRecord`](crate::memory::UnreadableRecord), never returned as a wrong message.
//!
//! Embedding stores use the same file or database, or another one:
//!
//! | store | feature | search |
//! |---|---|---|
//! | `sqlite::SqliteEmbeddingStore` | `sqlite` | exact, reads all vectors: up to some 100,000; words with FTS5 |
//! | `postgres::PostgresEmbeddingStore` | `postgres` | with pgvector, exact or with an HNSW index; words with `tsvector` |
//!
//! [`docs::memory`](crate::docs::memory) describes memories, their windows and concurrent calls. A crate that
//! implements a store uses [`kit`] and is tested with the suites of `testing` (feature `testing`).

#[doc(inline)]
pub use ai_services_core::store_kit as kit;

#[cfg(feature = "cassandra")]
#[cfg_attr(docsrs, doc(cfg(feature = "cassandra")))]
#[doc(inline)]
pub use ai_services_cassandra as cassandra;
#[cfg(feature = "postgres")]
#[cfg_attr(docsrs, doc(cfg(feature = "postgres")))]
#[doc(inline)]
pub use ai_services_postgres as postgres;
#[cfg(feature = "redis")]
#[cfg_attr(docsrs, doc(cfg(feature = "redis")))]
#[doc(inline)]
pub use ai_services_redis as redis;
#[cfg(feature = "sqlite")]
#[cfg_attr(docsrs, doc(cfg(feature = "sqlite")))]
#[doc(inline)]
pub use ai_services_sqlite as sqlite;
