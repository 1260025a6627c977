use ai_services::tools;

struct Weather;

#[tools]
impl Weather {
    /// The temperature.
    #[tool]
    async fn temperature(&self, #[memory_id] user: &str) -> f64 {
        let _ = user;
        20.0
    }
}

fn main() {}
