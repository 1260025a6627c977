use ai_services::ai_service;

#[ai_service]
trait Assistant {
    #[user_message("Hello!")]
    async fn chat(&self, #[v("{name}")] name: &str) -> ai_services::Result<String>;
}

fn main() {}
