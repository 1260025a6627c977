use ai_services::ai_service;

#[ai_service]
trait Assistant {
    #[user_message("Hello!", file = "pirate.txt")]
    async fn chat(&self) -> ai_services::Result<String>;
}

fn main() {}
