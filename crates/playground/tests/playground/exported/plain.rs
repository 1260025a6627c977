// Recorded by the playground. Adapt the lines with a comment at their end.
#[tokio::test]
async fn support_chat_answers_as_recorded() -> ai_services::Result<()> {
    use ai_services::memory::{MemoryId, MessageWindowChatMemory};
    use ai_services::message::AiMessage;
    use ai_services::model::ChatResponse;
    use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};

    let model = ScriptedChatModel::new([
        ScriptedAnswer::from(ChatResponse::new(
            AiMessage::builder()
                .text("Done.")
                .build(),
        )),
    ]);
    let service = SupportService::builder()
        .chat_model(model.clone())
        .chat_memory_provider(|id: &MemoryId| {
            MessageWindowChatMemory::builder().id(id).max_messages(100).build()
        })
        .build()?; // guardrails and other settings
    let answer = service.chat(&MemoryId::from("ann:1"), r#"Hello, "you"!"#).collect().await?.value; // the parameters of the method
    assert_eq!(answer, "Done.");
    model.check_finished()
}
