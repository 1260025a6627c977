use ai_services::ai_service;

#[ai_service]
trait Assistant {
    #[user_message("What happened on {{current_date}}?")]
    async fn history(&self, #[v] current_date: &str) -> ai_services::Result<String>;
}

fn main() {}
