use ai_services::{Result, ai_service};

#[ai_service]
trait Support {
    async fn chat(&self, text: &str) -> Result<&str>;
}

fn main() {}
