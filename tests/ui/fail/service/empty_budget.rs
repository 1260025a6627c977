use ai_services::ai_service;

#[ai_service]
trait Assistant {
    #[budget]
    async fn chat(&self, text: &str) -> ai_services::Result<String>;

    #[budget()]
    async fn ask(&self, text: &str) -> ai_services::Result<String>;
}

fn main() {}
