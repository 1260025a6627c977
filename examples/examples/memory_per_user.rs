//! Memory: each user has a separate conversation.
#![allow(clippy::print_stdout, reason = "examples print their results")]

use ai_services::ai_service;
use ai_services::memory::{MemoryId, MessageWindowChatMemory};
use ai_services::message::ChatMessage;
use ai_services::model::ChatRequest;
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};

#[ai_service]
trait Assistant {
    async fn chat(
        &self,
        #[memory_id] user: &str,
        #[user_message] text: &str,
    ) -> ai_services::Result<String>;
}

/// Answers with all user messages of the request, which shows the content of the memory.
fn repeat_messages(_: usize, request: &ChatRequest) -> ScriptedAnswer {
    let earlier = request.messages().filter(|message| message.is_user());
    let texts: Vec<&str> = earlier.filter_map(ChatMessage::text).collect();
    ScriptedAnswer::text(format!("I have heard: {}", texts.join(" | ")))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ai_services::Result<()> {
    let assistant = AssistantService::builder()
        .chat_model(ScriptedChatModel::from_fn(repeat_messages))
        .chat_memory_provider(|user: &MemoryId| {
            // With `.store(…)` the conversations are stored in a database instead of this process.
            MessageWindowChatMemory::builder().id(user).max_messages(20).build()
        })
        .build()?;

    println!("{}", assistant.chat("ann", "I am Ann.").await?);
    println!("{}", assistant.chat("ben", "I am Ben.").await?);

    let ann = assistant.chat("ann", "Who am I?").await?;
    println!("{ann}");
    assert_eq!(ann, "I have heard: I am Ann. | Who am I?");

    // A memory can be read, changed and cleared.
    let memory = assistant.chat_memory("ben")?;
    assert_eq!(memory.messages().await?.len(), 2);

    // Eviction drops a memory of this process: Ann's conversation is lost, Ben's is not.
    assert!(assistant.evict_chat_memory("ann"));
    assert_eq!(assistant.chat("ann", "And now?").await?, "I have heard: And now?");
    let ben = assistant.chat("ben", "And me?").await?;
    println!("{ben}");
    assert_eq!(ben, "I have heard: I am Ben. | And me?");
    Ok(())
}
