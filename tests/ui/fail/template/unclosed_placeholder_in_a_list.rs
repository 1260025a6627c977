use ai_services::{Result, ai_service};

#[ai_service]
trait Support {
    #[user_message("{{}} {{citty}} {{a{b}} {{")]
    async fn chat(&self, #[v] city: &str, #[v] days: u8) -> Result<String>;
}

fn main() {}
