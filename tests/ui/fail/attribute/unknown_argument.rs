use ai_services::ai_service;

#[ai_service]
trait Assistant {
    #[user_message("Say {{it}}", delimeter = " ")]
    async fn chat(&self, text: &str) -> ai_services::Result<String>;
}

fn main() {}
