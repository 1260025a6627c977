use ai_services::{AnswerStream, ai_service};

#[ai_service]
trait Assistant {
    async fn chat(&self, text: &str) -> AnswerStream;
}

fn main() {}
