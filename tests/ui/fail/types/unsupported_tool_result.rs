use ai_services::tools;

struct Temperature;

struct Weather;

#[tools]
impl Weather {
    /// The temperature.
    #[tool]
    async fn temperature(&self) -> Temperature {
        Temperature
    }
}

fn main() {}
