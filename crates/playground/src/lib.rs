//! A web page for developers of services: chat with a service, and see each request, answer, tool and memory.
//!
//! # Examples
//!
//! ```
//! use ai_services::memory::{InMemoryChatMemoryStore, MemoryId, MessageWindowChatMemory};
//! use ai_services::playground::Playground;
//! use ai_services::testing::ScriptedChatModel;
//! use ai_services::{AnswerStream, ai_service};
//!
//! #[ai_service]
//! #[system_message("You are a support agent.")]
//! trait Support {
//!     fn chat(&self, #[memory_id] conversation: &MemoryId, #[user_message] text: &str) -> AnswerStream;
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let store = InMemoryChatMemoryStore::new();
//! let memories = store.clone();
//! let playground = Playground::new();
//! let support = SupportService::builder()
//!     .chat_model(ScriptedChatModel::replies(["Hello."]))
//!     .chat_memory_provider(move |id: &MemoryId| {
//!         MessageWindowChatMemory::builder().id(id).max_messages(20).store(memories.clone()).build()
//!     })
//!     .listener(playground.listener())
//!     .build()?;
//! let server = playground
//!     .service("support", move |turn| support.chat(turn.memory_id(), turn.text()))
//!     .store(store)
//!     .bind(([127, 0, 0, 1], 0))
//!     .await?;
//! println!("{}", server.url());
//! # let shutdown = std::future::ready(());
//! server.serve(shutdown).await?;
//! # Ok(())
//! # }
//! ```
//!
//! # The page
//!
//! | part | contents |
//! |---|---|
//! | conversations | those of the [store](Playground::store), for any user, and those whose turn is open; a new one starts with its first message |
//! | chat | the answer while it is written, tool calls, approvals, questions of tools, and a button that cancels |
//! | turn | a timeline, requests with the bytes that were sent, responses, sources, verdicts, usage and cost |
//! | memory | the messages in the store, with the version of the conversation and estimated token counts |
//!
//! The bytes of a request are shown for the chat models of the providers in this framework. For other models, the page
//! shows the messages, tools and parameters of the request. If services that are tools run in parallel, and their models
//! wait for a rate limit or repeat a request, a body can be shown at another request of the same turn.
//!
//! The cost is shown for a service with a [price table](ai_services_core::model::PriceTable).
//!
//! ## Turns that wait
//!
//! With [`Playground::decisions`], the page decides about tool calls that need approval, and answers the questions of
//! tools. A question becomes a form with the fields of its schema. The page shows a turn that waits whenever its
//! conversation is selected: after the page was loaded again, in another tab, and after a restart of the program if the
//! store is persistent. Nothing runs before the decision. A declined question reaches the tool as
//! [`ElicitationAnswer::Cancel`](ai_services_core::approval::ElicitationAnswer::Cancel), because the protocol of the page
//! has no other refusal.
//!
//! ## Run a turn again
//!
//! A turn can be repeated with another text or by another registered service. The repetition runs on a copy of the
//! conversation that the turn has seen, with the id `id~1`, `id~2` and so on, and cannot change the original. Its
//! **tools run**: the page asks first if the turn has called tools.
//!
//! ## Export a turn
//!
//! | form | use |
//! |---|---|
//! | Rust test | a test with a scripted model and with tools that return the recorded results; the lines to adapt have comments |
//! | cassette | the exchanges with the model, for `ReplayModel`: a service that sends other requests fails, with the differences |
//! | record | the line of a [`RecordFile`](ai_services_core::record::RecordFile) |
//!
//! A cassette has no keys in well-known formats. The other forms are not redacted.
//!
//! # Security
//!
//! The playground is for development. The printed address gives access to conversations and services, so the playground
//!
//! * listens on loopback addresses only;
//! * requires a random token, which is a part of the printed [address](PlaygroundServer::url), in a header of each
//!   request: other users of the machine do not have it (status 401);
//! * answers only under names of this machine, so that no web page can rebind its own name to the playground (421);
//! * rejects requests of other web pages (403), and bodies that are not JSON (415);
//! * shows text as text: Markdown becomes DOM nodes, and a content security policy forbids inline scripts, HTML from
//!   text, and requests to other servers. Images in answers are not loaded; they and links show their whole address.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod access;
mod api;
mod export;
mod open_turns;
mod page;
mod playground;
mod run;
mod server;
mod turn_log;
mod user;

pub use ai_services_serve::UserTurn;
pub use playground::Playground;
pub use server::PlaygroundServer;
