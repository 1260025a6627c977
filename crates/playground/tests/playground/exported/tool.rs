// Recorded by the playground. Adapt the lines with a comment at their end.
#[tokio::test]
async fn support_chat_answers_as_recorded() -> ai_services::Result<()> {
    use ai_services::memory::{MemoryId, MessageWindowChatMemory};
    use ai_services::message::{AiMessage, ToolCall};
    use ai_services::model::ChatResponse;
    use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};

    let model = ScriptedChatModel::new([
        ScriptedAnswer::from(ChatResponse::new(
            AiMessage::builder()
                .tool_calls([
                    ToolCall::new("call_1", "state", r#"{"order":"7"}"#),
                ])
                .build(),
        )),
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
        .tools(vec![
            recorded_tool("state", &[(r#"{"order":"7"}"#, Ok(r#"order 7 is "on its way""#))]),
        ]) // or the tools of the service
        .build()?; // guardrails and other settings
    let answer = service.chat(&MemoryId::from("ann:1"), "Where is it?").collect().await?.value; // the parameters of the method
    assert_eq!(answer, "Done.");
    model.check_finished()
}

/// Creates a tool that returns the recorded result for its arguments.
fn recorded_tool(
    name: &str,
    results: &'static [(&str, Result<&str, &str>)],
) -> ai_services::tool::Tool {
    use ai_services::model::ToolSpecification;
    use ai_services::tool::{Tool, ToolError, ToolInput, ToolOutput};

    let specification = ToolSpecification::new(name, "A recorded tool.");
    Tool::from_fn(specification, move |input: ToolInput| async move {
        let arguments = input.call().arguments();
        let recorded = results.iter().find(|(known, _)| *known == arguments);
        let (_, result) = recorded.ok_or_else(|| ToolError::new("the call was not recorded"))?;
        result.map(ToolOutput::text).map_err(ToolError::new)
    })
}
