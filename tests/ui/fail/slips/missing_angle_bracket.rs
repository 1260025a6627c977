use ai_services::{Result, ai_service};

#[ai_service]
trait Support {
    #[system_message("You help customer {{id}}.")]
    async fn chat(&self, #[memory_id] #[v] id: u64, #[user_message] text: &str) -> Result<String;

    #[user_message("Translate {{text}}.")]
    async fn translate(&self, #[v] text: &str) -> Result<String>;
}

fn main() {
    let _: Option<SupportService> = None;
}
