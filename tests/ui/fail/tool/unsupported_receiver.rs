use ai_services::tools;

struct Weather;

#[tools]
impl Weather {
    /// Sets the temperature.
    #[tool]
    fn set(&mut self, degrees: f64) {
        let _ = degrees;
    }
}

fn main() {}
