use ai_services::ai_service;

#[ai_service]
trait Assistant {
    #[tools(choice = "required")]
    async fn chat(&self, text: &str) -> ai_services::Result<String>;
}

fn main() {}
