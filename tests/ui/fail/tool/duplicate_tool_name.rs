use ai_services::tools;

struct Weather;

#[tools]
impl Weather {
    /// The temperature.
    #[tool]
    fn temperature(&self) -> f64 {
        20.0
    }

    /// The temperature in another unit.
    #[tool(name = "temperature")]
    fn fahrenheit(&self) -> f64 {
        68.0
    }
}

fn main() {}
