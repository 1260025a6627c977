//! Memory in a file: conversations survive a restart of the program.
//!
//! The same builder calls work with the stores for PostgreSQL, Redis and Cassandra.
#![allow(clippy::print_stdout, reason = "examples print their results")]

use ai_services::ai_service;
use ai_services::memory::{
    ConversationStore, EvictedMessages, HistoryPosition, MemoryId, MessageWindowChatMemory,
};
use ai_services::store::sqlite::SqliteChatMemoryStore;
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use std::path::Path;

#[ai_service]
trait Assistant {
    async fn chat(
        &self,
        #[memory_id] user: &str,
        #[user_message] text: &str,
    ) -> ai_services::Result<String>;
}

/// Builds the service, as a server does at startup.
async fn start(file: &Path) -> ai_services::Result<(AssistantService, SqliteChatMemoryStore)> {
    let store = SqliteChatMemoryStore::builder()
        .path(file)
        // Keep messages that no longer fit into the window, so that users can scroll back.
        .evicted_messages(EvictedMessages::Keep)
        .open()
        .await?;
    let memory_store = store.clone();
    let assistant = AssistantService::builder()
        // Answers with the number of messages in the request.
        .chat_model(ScriptedChatModel::from_fn(|_, request| {
            ScriptedAnswer::text(format!("I was sent {} messages.", request.message_count()))
        }))
        .chat_memory_provider(move |user: &MemoryId| {
            MessageWindowChatMemory::builder()
                .id(user)
                .max_messages(4)
                .store(memory_store.clone())
                .build()
        })
        .build()?;
    Ok((assistant, store))
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let directory = std::env::temp_dir().join(format!("ai-services-{}", std::process::id()));
    std::fs::create_dir(&directory)?;
    let file = directory.join("memory.sqlite");

    for run in 1..=3 {
        // Each iteration starts without state in the process, like a restart.
        let (assistant, store) = start(&file).await?;
        println!("run {run}, ann: {}", assistant.chat("ann", "What did I say?").await?);
        if run == 1 {
            println!("run {run}, ben: {}", assistant.chat("ben", "Hello!").await?);
        }
        for conversation in store.conversations(None, 10).await? {
            println!("    {}: {} messages in memory", conversation.id, conversation.messages);
        }
        drop(assistant);
        store.close().await;
    }

    let (_, store) = start(&file).await?;
    let history = store.history(&"ann".into(), HistoryPosition::Oldest, 100).await?;
    let evicted = history.iter().filter(|entry| entry.is_evicted).count();
    println!("{} messages stored for ann, {evicted} of them evicted", history.len());
    assert_eq!((history.len(), evicted), (6, 2));
    store.close().await;
    Ok(std::fs::remove_dir_all(&directory)?)
}
