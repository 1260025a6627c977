use ai_services::tools;

struct Weather;

#[tools]
impl Weather {
    /// Sets the temperature.
    #[tool]
    fn set<T: Into<f64>>(&self, degrees: T) {
        let _: f64 = degrees.into();
    }
}

fn main() {}
