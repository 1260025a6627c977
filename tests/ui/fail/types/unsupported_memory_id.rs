use ai_services::ai_service;

struct Customer;

#[ai_service]
trait Assistant {
    async fn chat(&self, #[memory_id] customer: &Customer, #[user_message] text: &str) -> ai_services::Result<String>;
}

fn main() {}
