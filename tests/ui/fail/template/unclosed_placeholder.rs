use ai_services::ai_service;

#[ai_service]
trait Assistant {
    #[user_message("Hello {{name}, how are you?")]
    async fn chat(&self, #[v] name: &str) -> ai_services::Result<String>;
}

fn main() {}
