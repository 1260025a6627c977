use ai_services::ai_service;

#[ai_service]
trait Assistant {
    #[system_message(file = "pirate.txt")]
    async fn pirate(&self, #[v] city: &str, #[user_message] text: &str) -> ai_services::Result<String>;
}

fn main() {}
