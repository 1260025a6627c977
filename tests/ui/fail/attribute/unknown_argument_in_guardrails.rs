use ai_services::ai_service;

struct Length(usize);

#[ai_service]
trait Assistant {
    #[input_guardrails(Length(9), max_retries = 2)]
    async fn chat(&self, text: &str) -> ai_services::Result<String>;

    #[output_guardrails(Length(9), max_retrys = 2)]
    #[moderate(answers)]
    async fn ask(&self, text: &str) -> ai_services::Result<String>;
}

fn main() {
    let _ = Length;
}
