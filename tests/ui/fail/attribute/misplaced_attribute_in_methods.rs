use ai_services::{ai_service, tools};

#[ai_service]
#[tools(none)]
#[retrieval(none)]
trait Assistant {
    async fn chat(&self, #[tools(none)] text: &str) -> ai_services::Result<String>;
}

struct Desk;

#[tools]
impl Desk {
    /// Returns the time.
    #[tool]
    #[retrieval(none)]
    fn time(&self) -> u8 {
        12
    }
}

fn main() {}
