use ai_services::ai_service;

#[ai_service(name = Helper)]
trait Assistant {
    async fn chat(&self, text: &str) -> ai_services::Result<String>;
}

fn main() {}
