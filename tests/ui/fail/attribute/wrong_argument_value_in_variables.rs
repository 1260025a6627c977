use ai_services::{Result, ai_service};

#[ai_service]
trait Assistant {
    #[user_message("{{city}} {{town}}")]
    async fn chat(&self, #[v(json = true)] city: &str, #[v("town", jason)] town: &str) -> Result<String>;
}

fn main() {}
