// Recorded by the playground. Adapt the lines with a comment at their end.
#[tokio::test]
async fn support_chat_answers_as_recorded() -> ai_services::Result<()> {
    use ai_services::ErrorKind;
    use ai_services::memory::{MemoryId, MessageWindowChatMemory};
    use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};

    let model = ScriptedChatModel::new([
        ScriptedAnswer::error(ErrorKind::Unavailable, "cancelled"),
    ]);
    let service = SupportService::builder()
        .chat_model(model.clone())
        .chat_memory_provider(|id: &MemoryId| {
            MessageWindowChatMemory::builder().id(id).max_messages(100).build()
        })
        .build()?; // guardrails and other settings
    let error = service.chat(&MemoryId::from("ann:1"), "Hold.").collect().await.unwrap_err(); // the parameters of the method
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    model.check_finished()
}
