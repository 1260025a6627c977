use ai_services::ai_service;
use ai_services::memory::MessageWindowChatMemory;
use ai_services::testing::ScriptedChatModel;

#[ai_service]
trait Assistant {
    async fn chat(&self, #[memory_id] user: u64, #[user_message] text: &str) -> ai_services::Result<String>;
}

fn main() {
    // One shared memory is not one memory for each id.
    let memory = MessageWindowChatMemory::builder().max_messages(10).build().unwrap();
    let model = ScriptedChatModel::replies(["Hi."]);
    let _ = AssistantService::builder().chat_model(model).chat_memory(memory).build();
}
