use ai_services::ai_service;

#[ai_service]
trait Assistant {
    #[moderate(answer = true)]
    async fn chat(&self, text: &str) -> ai_services::Result<String>;

    #[output_guardrails(Tone, max_retries)]
    async fn ask(&self, text: &str) -> ai_services::Result<String>;
}

fn main() {}
