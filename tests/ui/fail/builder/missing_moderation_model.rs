use ai_services::ai_service;
use ai_services::testing::ScriptedChatModel;

#[ai_service]
trait Assistant {
    #[moderate]
    async fn chat(&self, text: &str) -> ai_services::Result<String>;
}

fn main() {
    let model = ScriptedChatModel::replies(["Hi."]);
    let _ = AssistantService::builder().chat_model(model).build();
}
