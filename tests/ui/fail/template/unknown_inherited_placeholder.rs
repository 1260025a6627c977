use ai_services::ai_service;

#[ai_service]
#[system_message("You work for {{company}}.")]
trait Assistant {
    async fn chat(&self, #[v] company: &str, #[user_message] text: &str) -> ai_services::Result<String>;

    async fn summary(&self, text: &str) -> ai_services::Result<String>;
}

fn main() {}
