//! Ids that are not in use cost nothing.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that fails panics")]

use ai_services::ai_service;
use ai_services::memory::{ChatMemoryStore, MemoryId, MessageWindowChatMemory};
use ai_services::message::{AiMessage, ChatMessage};
use ai_services::model::{ChatModel, ChatRequest, ChatResponse};

/// Ids that call once and never again.
const IDS: u64 = 1_000_000;

/// What the process may grow by. A queue and an entry kept for each id would be ten times that.
const BUDGET_KIB: u64 = 16 * 1024;

#[ai_service]
trait Assistant {
    async fn chat(
        &self,
        #[memory_id] user: u64,
        #[user_message] text: &str,
    ) -> ai_services::Result<String>;
}

struct Brief;

#[ai_services::async_trait]
impl ChatModel for Brief {
    async fn chat(&self, _: &ChatRequest) -> ai_services::Result<ChatResponse> {
        Ok(ChatResponse::new(AiMessage::new("ok")))
    }
}

/// A store that keeps nothing, so that what grows is the service.
struct Forgetful;

#[ai_services::async_trait]
impl ChatMemoryStore for Forgetful {
    async fn get_messages(&self, _: &MemoryId) -> ai_services::Result<Vec<ChatMessage>> {
        Ok(Vec::new())
    }

    async fn update_messages(&self, _: &MemoryId, _: &[ChatMessage]) -> ai_services::Result<()> {
        Ok(())
    }

    async fn delete_messages(&self, _: &MemoryId) -> ai_services::Result<()> {
        Ok(())
    }
}

fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[tokio::test]
async fn idle_ids_of_a_stored_memory_cost_nothing() {
    let assistant = AssistantService::builder()
        .chat_model(Brief)
        .chat_memory_provider(|id: &MemoryId| {
            MessageWindowChatMemory::builder().id(id).max_messages(20).store(Forgetful).build()
        })
        .build()
        .unwrap();
    // What is set up once is not what an id costs.
    for user in 0..1_000 {
        assistant.chat(user, "Hi").await.unwrap();
    }
    let before = resident_kib();
    for user in 1_000..1_000 + IDS {
        assistant.chat(user, "Hi").await.unwrap();
    }
    let grown = resident_kib().saturating_sub(before);
    assert!(grown <= BUDGET_KIB, "{IDS} ids left {grown} KiB behind");
}
