use ai_services::{Result, ai_service};

#[ai_service]
trait Support {
    #[user_message("Translate {{text}}.")]
    async fn translate(&self, #[v] text: &str) -> Result<String>;

    async fn twice(&self, text: &str) -> Result<String> {
        self.
    }
}

fn main() {
    let _: Option<SupportService> = None;
}
