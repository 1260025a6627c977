use ai_services::{Result, ai_service, tools};

#[ai_service(name = Bot, crate = "ai_services")]
trait Support {
    #[system_message(file)]
    async fn chat(&self, text: &str) -> Result<String>;
}

struct Desk;

#[tools]
impl Desk {
    /// Cancels a booking.
    #[tool(timeout = 30, name = cancel, sequential = true)]
    fn cancel(&self) {}
}

fn main() {}
