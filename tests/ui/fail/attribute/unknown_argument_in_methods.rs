use ai_services::ai_service;

#[ai_service]
trait Assistant {
    #[retrieval(non)]
    async fn chat(&self, text: &str) -> ai_services::Result<String>;

    #[tools(only = "search")]
    async fn ask(&self, text: &str) -> ai_services::Result<String>;
}

fn main() {}
