use ai_services::{Result, ai_service};

#[ai_service]
trait Support {
    #[user_message("Translate {{text}}.")]
    async fn translate(&self, #[v] text: &str) -> Result<String>;

    #[system_message("You help customer {{id}}.")]
    async fn chat
}

fn main() {
    let _: Option<SupportService> = None;
}
