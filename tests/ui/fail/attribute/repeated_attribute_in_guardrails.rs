use ai_services::ai_service;
use ai_services::guardrail::MaxLength;

#[ai_service]
trait Assistant {
    #[input_guardrails(MaxLength::characters(9))]
    #[input_guardrails(MaxLength::characters(5))]
    #[moderate]
    #[moderate(answer)]
    async fn chat(&self, text: &str) -> ai_services::Result<String>;
}

fn main() {
    let _ = MaxLength::characters(9);
}
