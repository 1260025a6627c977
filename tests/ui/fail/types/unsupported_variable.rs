use ai_services::ai_service;

struct City;

#[ai_service]
trait Assistant {
    #[user_message("What is the weather in {{city}}?")]
    async fn weather(&self, #[v] city: City) -> ai_services::Result<String>;
}

fn main() {}
