use ai_services::ai_service;

#[ai_service]
trait Assistant {
    async fn chat(&self, #[input_guardrails(Length(9))] text: &str) -> ai_services::Result<String>;

    #[output_guardrails(Tone)]
    async fn hello(&self) -> ai_services::Result<String> {
        self.chat("Hello!").await
    }
}

fn main() {}
