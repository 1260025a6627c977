use ai_services::ai_service;

#[ai_service]
trait Assistant {
    async fn chat(&self, text: &str) -> ai_services::Result<String>;

    #[user_message("Hello!")]
    async fn hello(&self) -> ai_services::Result<String> {
        self.chat("Hello!").await
    }
}

fn main() {}
