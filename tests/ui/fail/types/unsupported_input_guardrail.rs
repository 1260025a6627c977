use ai_services::ai_service;

struct Length(usize);

#[ai_service]
trait Assistant {
    #[input_guardrails(Length(9))]
    async fn chat(&self, text: &str) -> ai_services::Result<String>;
}

fn main() {
    let _ = Length;
}
