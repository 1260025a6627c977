use ai_services::ai_service;

#[ai_service]
trait Assistant {
    async fn chat(&self, text: &str);
}

fn main() {}
