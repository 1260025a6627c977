use ai_services::ai_service;

#[ai_service]
trait Assistant {
    #[user_message(
        "You are given this text:
        {{text}}
        Reply in {{tongue}}."
    )]
    async fn reply(&self, #[v] text: &str) -> ai_services::Result<String>;
}

fn main() {}
