use ai_services::ai_service;

#[ai_service]
trait Assistant {
    #[user_message("Translate {{it}} to {{language}}")]
    async fn translate(&self, #[v] language: &str) -> ai_services::Result<String>;
}

fn main() {}
