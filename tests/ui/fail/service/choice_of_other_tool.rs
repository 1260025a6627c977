use ai_services::ai_service;

#[ai_service]
trait Assistant {
    #[tools("search", "fetch", choice = "serach")]
    async fn chat(&self, text: &str) -> ai_services::Result<String>;
}

fn main() {}
