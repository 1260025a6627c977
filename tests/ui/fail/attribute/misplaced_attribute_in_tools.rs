use ai_services::tools;

struct Desk;

#[tools]
#[input_guardrails(Length(9))]
impl Desk {
    /// Greets.
    #[tool]
    #[output_guardrails(Tone, max_retries = 1)]
    fn greet(&self, #[moderate] name: &str) -> String {
        format!("Hello, {name}!")
    }
}

fn main() {
    let _ = Desk;
}
