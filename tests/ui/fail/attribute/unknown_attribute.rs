use ai_services::{Result, ai_service, tools};

#[ai_service]
trait Support {
    async fn chat(&self, #[memoryid] id: u64, #[user_message] text: &str) -> Result<String>;

    #[UserMessage("Translate {{text}}.")]
    async fn translate(&self, #[v] text: &str) -> Result<String>;
}

struct Desk;

#[tools]
impl Desk {
    /// Cancels a booking.
    #[tool]
    fn cancel(&self, #[memory_idd] _id: u64) {}
}

fn main() {}
