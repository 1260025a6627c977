use ai_services::tools;

struct City;

struct Weather;

#[tools]
impl Weather {
    /// The temperature.
    #[tool]
    async fn temperature(&self, city: City) -> f64 {
        let _ = city;
        20.0
    }
}

fn main() {}
