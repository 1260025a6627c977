use ai_services::ai_service;

#[ai_service]
trait Assistant {
    #[input_guardrails]
    async fn chat(&self, text: &str) -> ai_services::Result<String>;

    #[output_guardrails(max_retries = 2)]
    async fn ask(&self, text: &str) -> ai_services::Result<String>;
}

fn main() {}
