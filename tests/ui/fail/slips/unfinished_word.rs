use ai_services::{Result, ai_service};

#[ai_service]
trait Support {
    asy
    #[user_message("Translate {{text}}.")]
    async fn translate(&self, #[v] text: &str) -> Result<String>;
}

fn main() {
    let _: Option<SupportService> = None;
}
