//! A service with a tool, and a server that offers it.

use ai_services::memory::{InMemoryChatMemoryStore, MemoryId, MessageWindowChatMemory};
use ai_services::message::{AiMessage, Content, ToolCall};
use ai_services::model::{ChatModel, ChatResponse, FinishReason, TokenUsage};
use ai_services::serve::{ChatServer, ChatServerBuilder, Principal};
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use ai_services::{AnswerStream, DurableTurns, Error, ErrorKind, ai_service, tool, tools};
use http::request::Parts;

#[ai_service]
#[system_message("Answer briefly.")]
pub(crate) trait Assistant {
    fn chat(
        &self,
        #[memory_id] conversation: &MemoryId,
        #[user_message] text: &[Content],
    ) -> AnswerStream;
}

pub(crate) struct Toolbox;

#[tools]
impl Toolbox {
    /// Returns the weather of a city.
    #[tool(read_only)]
    fn weather(&self, city: String) -> String {
        format!("{city} is sunny")
    }
}

/// Deletes an account.
#[tool]
pub(crate) fn delete_account(name: String) -> String {
    format!("{name} is deleted")
}

pub(crate) fn service(
    model: impl ChatModel + 'static,
    store: &InMemoryChatMemoryStore,
) -> AssistantService {
    let store = store.clone();
    AssistantService::builder()
        .chat_model(model)
        .tools(Toolbox)
        .tools(delete_account::tool().requiring_approval())
        .chat_memory_provider(move |id| {
            MessageWindowChatMemory::builder().id(id).max_messages(50).store(store.clone()).build()
        })
        .durable_turns(DurableTurns::new())
        .build()
        .unwrap()
}

/// Returns a builder with the service `assistant`. The bearer token is the principal; `nobody` is rejected.
pub(crate) fn server(
    model: impl ChatModel + 'static,
    store: &InMemoryChatMemoryStore,
) -> ChatServerBuilder {
    let assistant = service(model, store);
    ChatServer::builder()
        .authenticate(principal)
        .service("assistant", move |turn| assistant.chat(turn.memory_id(), turn.contents()))
}

pub(crate) async fn principal(request: Parts) -> ai_services::Result<Principal> {
    let token = request.headers.get("authorization").and_then(|value| value.to_str().ok());
    match token.and_then(|token| token.strip_prefix("Bearer ")) {
        Some(name) if name != "nobody" => Ok(Principal::new(name)),
        _ => Err(Error::new(ErrorKind::Authentication, "unknown token of the vault")),
    }
}

/// An answer in three pieces, with usage.
pub(crate) fn hello() -> ScriptedAnswer {
    ScriptedAnswer::pieces(["Hel", "lo, ", "Ann."]).with_usage(TokenUsage::new(12, 4))
}

/// A model that asks for the weather in two cities with one id, and then answers.
pub(crate) fn weather() -> ScriptedChatModel {
    let calls = ["Rome", "Oslo"]
        .map(|city| ToolCall::new("call_0", "weather", format!(r#"{{"city":"{city}"}}"#)));
    let message = AiMessage::builder().text("Let me look.").tool_calls(calls).build();
    let first = ChatResponse::new(message)
        .with_finish_reason(FinishReason::ToolExecution)
        .with_usage(TokenUsage::new(10, 5));
    let second = ScriptedAnswer::pieces(["Both are", " sunny."]).with_usage(TokenUsage::new(20, 6));
    ScriptedChatModel::new([first.into(), second])
}

/// A model that calls the tool that needs approval.
pub(crate) fn deletion() -> ScriptedChatModel {
    let call = ToolCall::new("1", "delete_account", r#"{"name":"ann"}"#);
    ScriptedChatModel::new([ScriptedAnswer::tool_calls([call])])
}
