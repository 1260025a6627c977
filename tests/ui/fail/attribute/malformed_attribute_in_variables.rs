use ai_services::{Result, ai_service};

#[ai_service]
trait Support {
    #[user_message("{{city}}")]
    async fn chat(&self, #[v(city)] town: &str) -> Result<String>;
}

fn main() {}
