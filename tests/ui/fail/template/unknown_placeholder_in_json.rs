use ai_services::{Result, ai_service};

#[ai_service]
trait Support {
    #[user_message(r#"Reply with {{"a": 1}}."#)]
    async fn chat(&self) -> Result<String>;
}

fn main() {}
