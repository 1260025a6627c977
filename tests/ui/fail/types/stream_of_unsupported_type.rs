use ai_services::{AnswerStream, ai_service};

struct Secret;

#[ai_service]
trait Assistant {
    fn chat(&self, text: &str) -> AnswerStream<Secret>;
}

fn main() {}
