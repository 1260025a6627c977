use ai_services::ai_service;

#[ai_service]
trait Assistant {
    #[user_message("Translate: {{text}}")]
    async fn translate(&self, text: &str, language: &str) -> ai_services::Result<String>;
}

fn main() {}
