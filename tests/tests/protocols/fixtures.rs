//! Messages, tools and exchanges that the tests of several protocols share.

use ai_services::fuzzing::summary;
use ai_services::message::{
    AiMessage, ChatMessage, Content, CustomMessage, ToolCall, ToolResult, UserMessage,
};
use ai_services::model::{
    ChatModel, ChatRequest, ChatRequestParameters, ChatResponse, ModelStreamEvent,
    ToolSpecification,
};
use ai_services_tests::fault_server::FaultServer;
use ai_services_tests::protocols::hello;
use futures_util::StreamExt;
use serde_json::{Value, json};

/// A conversation with every kind of message. The last message has these attributes, which depend on the
/// protocol.
pub(crate) fn every_kind_of_message(attributes: &Value) -> [ChatMessage; 10] {
    [
        ChatMessage::system("Be \"brief\".\n\u{1F600}"),
        UserMessage::new("Hello!").with_name("Klaus").into(),
        AiMessage::builder()
            .thinking("not sent")
            .tool_calls([ToolCall::new("c1", "weather", r#"{"city": "Oslo"}"#)])
            .build()
            .into(),
        ToolResult::new("c1", "weather", "no such city").into_error().into(),
        AiMessage::builder()
            .text("Let me see.")
            .tool_calls([ToolCall::new("c2", "now", "{"), ToolCall::new("c3", "now", "{}")])
            .build()
            .into(),
        ToolResult::from_contents("c2", "now", ["a", "b"].map(Content::from)).into(),
        ToolResult::new("c3", "now", "").into(),
        ChatMessage::ai("Done."),
        AiMessage::builder().refusal("I cannot.").build().into(),
        CustomMessage::new(attributes.as_object().unwrap().clone()).into(),
    ]
}

/// A tool with a required and an optional parameter.
pub(crate) fn weather() -> ToolSpecification {
    let schema = json!({
        "type": "object",
        "properties": { "city": { "type": "string" }, "days": { "type": "integer" } },
        "required": ["city"],
    });
    ToolSpecification::new("weather", "Looks up the weather.")
        .with_parameters(schema.try_into().unwrap())
}

/// A request with a tool that has parameters and one that has none.
pub(crate) fn with_tools(parameters: ChatRequestParameters) -> ChatRequest {
    ChatRequest::builder()
        .messages([ChatMessage::user("Hello!")])
        .tools(vec![weather(), ToolSpecification::new("now", "Tells the time.")])
        .parameters(parameters)
        .build()
}

/// Returns the response of a model without streaming and with streaming, from a server with these two answers.
pub(crate) fn whole_and_streamed<M: ChatModel>(
    answers: [Vec<u8>; 2],
    model: impl FnOnce(&FaultServer) -> M,
) -> [ChatResponse; 2] {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let server = FaultServer::answering(answers).await.unwrap();
        let model = model(&server);
        let whole = model.chat(&hello()).await.unwrap();
        let events: Vec<_> = model.stream(&hello()).collect().await;
        // Asserts that the pieces add up to the response.
        summary(&events);
        match events.into_iter().last() {
            Some(Ok(ModelStreamEvent::Completed(streamed))) => [whole, *streamed],
            end => panic!("{end:?}"),
        }
    })
}
