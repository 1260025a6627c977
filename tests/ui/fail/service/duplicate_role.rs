use ai_services::ai_service;

#[ai_service]
trait Assistant {
    async fn chat(
        &self,
        #[user_name] first: &str,
        #[user_name] last: &str,
        #[user_message] text: &str,
    ) -> ai_services::Result<String>;
}

fn main() {}
