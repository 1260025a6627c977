use ai_services::ai_service;

#[ai_service]
trait Assistant {
    #[budget(token = 50_000)]
    async fn chat(&self, text: &str) -> ai_services::Result<String>;
}

fn main() {}
