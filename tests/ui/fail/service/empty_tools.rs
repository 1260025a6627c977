use ai_services::ai_service;

#[ai_service]
trait Assistant {
    #[tools]
    async fn chat(&self, text: &str) -> ai_services::Result<String>;

    #[tools()]
    async fn ask(&self, text: &str) -> ai_services::Result<String>;
}

fn main() {}
