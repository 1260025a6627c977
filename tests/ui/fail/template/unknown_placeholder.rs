use ai_services::ai_service;

#[ai_service]
trait Assistant {
    #[user_message("What is the weather in {{citty}}?")]
    async fn weather(&self, city: &str) -> ai_services::Result<String>;
}

fn main() {}
