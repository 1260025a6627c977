use ai_services::ai_service;

#[ai_service]
trait Assistant {
    #[user_message("{{city}}")]
    async fn weather(&self, #[v("city")] town: &str, #[v] city: &str) -> ai_services::Result<String>;
}

fn main() {}
