use ai_services::tools;

struct Desk;

#[tools]
impl Desk {
    /// Adds.
    #[tool]
    async fn add(&self, #[p("First.")] a: i64) -> i64;

    /// Repeats a text.
    #[tool]
    async fn repeat(&self, #[p("The text.")] text: &str) -> String {
        text.to_owned()
    }
}

fn main() {
    let _ = (Desk, Desk::repeat);
}
