use ai_services::{Result, ai_service, async_trait};

#[async_trait]
#[ai_service]
trait Support {
    async fn chat(&self, #[memory_id] id: u64, #[user_message] text: &str) -> Result<String>;
}

fn main() {}
