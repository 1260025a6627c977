use ai_services::ai_service;
use ai_services::guardrail::{OutputGuardrail, OutputGuardrailRequest, OutputVerdict};

struct Tone;

#[ai_services::async_trait]
impl OutputGuardrail for Tone {
    async fn check(&self, _: OutputGuardrailRequest<'_>) -> ai_services::Result<OutputVerdict> {
        Ok(OutputVerdict::Success)
    }

    fn name(&self) -> &str {
        "tone"
    }
}

#[ai_service]
trait Assistant {
    #[output_guardrails(Tone, max_retries = "2")]
    async fn chat(&self, text: &str) -> ai_services::Result<String>;

    #[output_guardrails(Tone, max_retries = -1)]
    async fn ask(&self, text: &str) -> ai_services::Result<String>;

    #[output_guardrails(Tone, max_retries = RETRIES)]
    async fn tell(&self, text: &str) -> ai_services::Result<String>;
}

const RETRIES: usize = 2;

fn main() {
    let _ = (Tone, RETRIES);
}
