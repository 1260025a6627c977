use ai_services::tool;

struct Weather;

impl Weather {
    /// The temperature.
    #[tool]
    fn temperature(&self) -> f64 {
        20.0
    }
}

fn main() {}
