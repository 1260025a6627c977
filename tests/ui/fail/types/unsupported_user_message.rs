use ai_services::ai_service;

struct Question;

#[ai_service]
trait Assistant {
    async fn ask(&self, question: Question) -> ai_services::Result<String>;
}

fn main() {}
