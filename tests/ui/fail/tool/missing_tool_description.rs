use ai_services::tools;

struct Weather;

#[tools]
impl Weather {
    #[tool]
    fn temperature(&self) -> f64 {
        20.0
    }
}

fn main() {}
