use ai_services::ai_service;

#[ai_service]
trait Assistant {
    async fn ask(&self, #[user_message] text: &str, #[parameters] temperature: f64) -> ai_services::Result<String>;
}

fn main() {}
