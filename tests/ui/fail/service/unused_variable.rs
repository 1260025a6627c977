use ai_services::ai_service;

#[ai_service]
trait Assistant {
    #[user_message("Tell me a joke.")]
    async fn joke(&self, #[v] topic: &str) -> ai_services::Result<String>;
}

fn main() {}
