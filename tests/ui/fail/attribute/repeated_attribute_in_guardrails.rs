use ai_services::ai_service;

#[ai_service]
trait Assistant {
    #[input_guardrails(Length(9))]
    #[input_guardrails(Length(5))]
    #[moderate]
    #[moderate(answer)]
    async fn chat(&self, text: &str) -> ai_services::Result<String>;
}

fn main() {}
