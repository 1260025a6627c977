use ai_services::ai_service;

#[ai_service]
trait Assistant {
    #[tools(search)]
    async fn chat(&self, text: &str) -> ai_services::Result<String>;

    #[tools = "search"]
    async fn ask(&self, text: &str) -> ai_services::Result<String>;

    #[retrieval]
    async fn find(&self, text: &str) -> ai_services::Result<String>;

    #[retrieval("none")]
    async fn read(&self, text: &str) -> ai_services::Result<String>;
}

fn main() {}
