use ai_services::tools;

struct Weather;

#[tools]
impl Weather {
    /// The temperature.
    #[tool(timeout = "1 hour")]
    async fn temperature(&self) -> f64 {
        20.0
    }
}

fn main() {}
