use ai_services::ai_service;

const TOKENS: u64 = 1_000;

#[ai_service]
#[budget(tool_calls = 0, cost = 0.0)]
trait Assistant {
    #[budget(tokens = TOKENS, tool_rounds = -1, model_calls = 2.5)]
    async fn chat(&self, text: &str) -> ai_services::Result<String>;

    #[budget(cost = -0.05, running_time = 30)]
    async fn ask(&self, text: &str) -> ai_services::Result<String>;

    #[budget(cost = "0.05", running_time = "0s")]
    async fn tell(&self, text: &str) -> ai_services::Result<String>;
}

fn main() {
    let _ = TOKENS;
}
