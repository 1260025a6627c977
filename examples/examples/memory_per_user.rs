//! Memory: each user has a conversation of their own, and nobody hears of another's.
#![allow(clippy::print_stdout, reason = "an example shows what it got")]

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

/// Answers with what it is reminded of, so that the memory can be seen.
fn reminded(_: usize, request: &ChatRequest) -> ScriptedAnswer {
    let earlier = request.messages().filter(|message| message.is_user());
    let said: Vec<&str> = earlier.filter_map(ChatMessage::text).collect();
    ScriptedAnswer::text(format!("I have heard: {}", said.join(" | ")))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ai_services::Result<()> {
    let assistant = AssistantService::builder()
        .chat_model(ScriptedChatModel::from_fn(reminded))
        .chat_memory_provider(|user: &MemoryId| {
            // With `.store(…)` the conversations live in a database instead of here.
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

    // Evicting drops a memory that lives in the process: Ann is forgotten, Ben is not.
    assert!(assistant.evict_chat_memory("ann"));
    assert_eq!(assistant.chat("ann", "And now?").await?, "I have heard: And now?");
    let ben = assistant.chat("ben", "And me?").await?;
    println!("{ben}");
    assert_eq!(ben, "I have heard: I am Ben. | And me?");
    Ok(())
}
