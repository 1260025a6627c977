use ai_services::{Result, ai_service};

struct City;

#[ai_service]
trait Assistant {
    #[user_message("{{city}}")]
    async fn option(&self, #[v] city: Option<City>) -> Result<String>;

    #[user_message("{{cities}}")]
    async fn list(&self, #[v] cities: &[String]) -> Result<String>;

    #[user_message("{{city}}")]
    async fn json(&self, #[v(json)] city: &City) -> Result<String>;
}

fn main() {}
