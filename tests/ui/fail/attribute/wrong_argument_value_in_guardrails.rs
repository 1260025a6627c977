use ai_services::ai_service;
use ai_services::guardrail::MaxLength;

#[ai_service]
trait Assistant {
    #[moderate(answer = true)]
    async fn chat(&self, text: &str) -> ai_services::Result<String>;

    #[output_guardrails(MaxLength::characters(9), max_retries)]
    async fn ask(&self, text: &str) -> ai_services::Result<String>;
}

fn main() {
    let _ = MaxLength::characters(9);
}
