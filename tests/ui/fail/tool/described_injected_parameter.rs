use ai_services::tools;

struct Weather;

#[tools]
impl Weather {
    /// The temperature.
    #[tool]
    fn temperature(
        &self,
        #[memory_id]
        #[p(default = "me")]
        user: &ai_services::memory::MemoryId,
    ) -> f64 {
        let _ = user;
        20.0
    }
}

fn main() {}
