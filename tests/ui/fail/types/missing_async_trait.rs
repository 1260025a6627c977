use ai_services::guardrail::{InputGuardrail, InputGuardrailRequest, InputVerdict};

struct Polite;

impl InputGuardrail for Polite {
    async fn check(&self, _: InputGuardrailRequest<'_>) -> ai_services::Result<InputVerdict> {
        Ok(InputVerdict::Success)
    }

    fn name(&self) -> &str {
        "polite"
    }
}

fn main() {
    let _ = Polite;
}
