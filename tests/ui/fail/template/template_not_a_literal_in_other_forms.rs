use ai_services::{Result, ai_service};

const PROMPT: &str = "Be brief.";

#[ai_service]
trait Support {
    #[system_message(PROMPT)]
    #[user_message("Hi {}", name)]
    async fn chat(&self, name: &str) -> Result<String>;
}

fn main() {}
