//! Idle memory ids use no memory.

use super::own_process::in_own_process;
use ai_services::ai_service;
use ai_services::memory::{ChatMemoryStore, MemoryId, MessageWindowChatMemory};
use ai_services::message::{AiMessage, ChatMessage};
use ai_services::model::{ChatModel, ChatRequest, ChatResponse};

/// Number of ids that make one call each.
const IDS: u64 = 250_000;

/// Maximum growth of the process. A queue and a map entry per id would take ten times as much.
const BUDGET_KIB: u64 = 4 * 1024;

#[ai_service]
trait Assistant {
    async fn chat(
        &self,
        #[memory_id] user: u64,
        #[user_message] text: &str,
    ) -> ai_services::Result<String>;
}

struct ShortAnswerModel;

#[ai_services::async_trait]
impl ChatModel for ShortAnswerModel {
    async fn chat(&self, _: &ChatRequest) -> ai_services::Result<ChatResponse> {
        Ok(ChatResponse::new(AiMessage::new("ok")))
    }
}

/// A store without state, so that only the service can grow.
struct EmptyStore;

#[ai_services::async_trait]
impl ChatMemoryStore for EmptyStore {
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

#[test]
fn idle_ids_use_no_memory() {
    in_own_process(async || {
        let assistant = AssistantService::builder()
            .chat_model(ShortAnswerModel)
            .chat_memory_provider(|id: &MemoryId| {
                MessageWindowChatMemory::builder().id(id).max_messages(20).store(EmptyStore).build()
            })
            .build()
            .unwrap();
        // One-time allocations are not counted.
        for user in 0..1_000 {
            assistant.chat(user, "Hi").await.unwrap();
        }
        let before = resident_kib();
        for user in 1_000..1_000 + IDS {
            assistant.chat(user, "Hi").await.unwrap();
        }
        let grown = resident_kib().saturating_sub(before);
        assert!(grown <= BUDGET_KIB, "{IDS} idle ids use {grown} KiB");
    });
}
