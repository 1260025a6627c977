use ai_services::ai_service;

#[ai_service]
trait Assistant {
    async fn chat(&self, text: &str) -> ai_services::Result<String>;
}

fn main() {
    let _ = AssistantService::builder().build();
}
