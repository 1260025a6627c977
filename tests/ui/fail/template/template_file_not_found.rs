use ai_services::ai_service;

#[ai_service]
trait Assistant {
    #[system_message(file = "pirat.txt")]
    async fn chat(&self, text: &str) -> ai_services::Result<String>;
}

fn main() {}
