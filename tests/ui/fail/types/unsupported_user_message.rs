use ai_services::ai_service;

struct Question;

#[ai_service]
trait Assistant {
    async fn ask(&self, question: Question) -> ai_services::Result<String>;

    #[user_message("Look at these.")]
    async fn look(&self, #[user_message] urls: Vec<String>) -> ai_services::Result<String>;
}

fn main() {}
