use ai_services::ai_service;

#[ai_service(name = "A", name = "B")]
trait Assistant {
    async fn chat(&self, text: &str) -> ai_services::Result<String>;
}

fn main() {}
