use ai_services::tools;

struct Desk;

#[tools]
impl Desk {
    /// Adds.
    #[tool]
    async fn add(&self, #[p("First.")] a: i64) -> i64 {
        let b = 1
        let c = 2;
        a + b + c
    }

    /// Repeats a text.
    #[tool]
    async fn repeat(&self, #[p("The text.")] text: &str) -> String {
        text.to_owned()
    }
}

fn main() {
    let _ = (Desk, Desk::repeat);
}
