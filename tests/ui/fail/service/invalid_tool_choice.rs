use ai_services::ai_service;

#[ai_service]
trait Assistant {
    #[tools("search", choice = search)]
    async fn chat(&self, text: &str) -> ai_services::Result<String>;

    #[tools(choice = none)]
    async fn answer(&self, text: &str) -> ai_services::Result<String>;

    #[tools(choice = 1)]
    async fn count(&self, text: &str) -> ai_services::Result<String>;
}

fn main() {}
