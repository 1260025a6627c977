use ai_services::{Result, ai_service};

#[ai_service]
trait Support {
    #[user_message("Hi {name}")]
    async fn chat(&self, name: &str) -> Result<String>;

    #[user_message("Hi {name}")]
    async fn greet(&self, #[v] name: &str) -> Result<String>;
}

fn main() {}
