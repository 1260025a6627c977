//! Memory in a file: an assistant that is started again knows what was said before, also by whom.
//!
//! The same builder calls, with another store, put the memory into PostgreSQL, Redis or Cassandra.
#![allow(clippy::print_stdout, reason = "an example shows what it got")]

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

/// What `main` of a server would do at its start.
async fn start(file: &Path) -> ai_services::Result<(AssistantService, SqliteChatMemoryStore)> {
    let store = SqliteChatMemoryStore::builder()
        .path(file)
        // A person may scroll back further than the model is reminded of.
        .evicted_messages(EvictedMessages::Keep)
        .open()
        .await?;
    let kept = store.clone();
    let assistant = AssistantService::builder()
        // Answers with how much it was reminded of: a real model would use it.
        .chat_model(ScriptedChatModel::from_fn(|_, request| {
            ScriptedAnswer::text(format!("I was sent {} messages.", request.message_count()))
        }))
        .chat_memory_provider(move |user: &MemoryId| {
            MessageWindowChatMemory::builder().id(user).max_messages(4).store(kept.clone()).build()
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
        // Everything that is in memory ends here, as with a restart.
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
    let said = store.history(&"ann".into(), HistoryPosition::Oldest, 100).await?;
    let evicted = said.iter().filter(|entry| entry.is_evicted).count();
    println!("{} messages were said with ann; the model has forgotten {evicted}", said.len());
    assert_eq!((said.len(), evicted), (6, 2));
    store.close().await;
    Ok(std::fs::remove_dir_all(&directory)?)
}
