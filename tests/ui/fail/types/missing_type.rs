use ai_services::{Result, ai_service, tools};

#[ai_service]
trait Support {
    async fn chat(&self, #[memory_id] id: Id, #[user_message] text: Text) -> Result<Answer>;
}

struct Desk;

#[tools]
impl Desk {
    /// Returns the time.
    #[tool]
    fn now(&self, _zone: Option<Zone>) -> Time {}
}

fn main() {}
