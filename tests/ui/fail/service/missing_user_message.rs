use ai_services::ai_service;

#[ai_service]
trait Assistant {
    async fn chat(&self) -> ai_services::Result<String>;
}

fn main() {}
