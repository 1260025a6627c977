use ai_services::ai_service;

#[ai_service]
trait Assistant {
    async fn echo(&self, text: &str) -> String;
}

fn main() {}
