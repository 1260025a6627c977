use ai_services::ai_service;

#[ai_service]
trait Assistant {
    async fn chat(
        &self,
        #[memory_id] user: u64,
        #[memory_id] room: u64,
        #[user_message] text: &str,
    ) -> ai_services::Result<String>;
}

fn main() {}
