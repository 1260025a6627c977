use ai_services::ai_service;

#[ai_service]
trait Assistant {
    #[budget(tokens = 50_000, cost = 0.05, tokens = 1_000)]
    async fn chat(&self, text: &str) -> ai_services::Result<String>;
}

fn main() {}
