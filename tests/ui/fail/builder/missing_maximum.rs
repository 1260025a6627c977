use ai_services::memory::{MessageWindowChatMemory, TokenWindowChatMemory};

fn main() {
    let _ = MessageWindowChatMemory::builder().id("ann").build();
    let _ = TokenWindowChatMemory::builder().always_keep_system_message_first().build();
}
