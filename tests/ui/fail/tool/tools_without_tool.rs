use ai_services::tools;

struct Weather;

#[tools]
impl Weather {
    /// The temperature.
    fn temperature(&self) -> f64 {
        20.0
    }
}

fn main() {}
