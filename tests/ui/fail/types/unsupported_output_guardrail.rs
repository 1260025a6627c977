use ai_services::ai_service;

struct Tone;

#[ai_service]
#[output_guardrails(Tone, max_retries = 1)]
trait Assistant {
    async fn chat(&self, text: &str) -> ai_services::Result<String>;
}

fn main() {
    let _ = Tone;
}
