use ai_services::tools;

struct Weather {
    last: std::cell::Cell<f64>,
}

#[tools]
impl Weather {
    /// The temperature.
    #[tool]
    async fn temperature(&self) -> f64 {
        self.last.get()
    }
}

fn main() {}
