//! The AI service of the chat: prompt, memory and tools.

use crate::screen::Screen;
use crate::tools::Desk;
use crate::turn::{ChatOptions, Delivery};
use ai_services::event::{Call, Event};
use ai_services::memory::{ConversationStore, MemoryId, MessageWindowChatMemory};
use ai_services::model::ChatModel;
use ai_services::{AnswerStream, Response, Result, ai_service};
use std::sync::Arc;

/// Number of messages in the window of each user. A turn with one tool call has four messages. Small local
/// models read 8,192 tokens, which leaves room for the tools even if every answer has 256 tokens.
const WINDOW_MESSAGES: usize = 24;

/// Maximum number of rounds of tool calls in a turn, so that a turn fits into the window.
const MAX_TOOL_ROUNDS: usize = 8;

/// A helpful assistant for several users.
#[ai_service]
#[system_message(
    "You are an assistant in a terminal. It is {{current_date_time}}.",
    "Answer in the language of the question, briefly, {{form}}.",
    "Use the tools where they help: never calculate in your head, never guess the time.",
    "Notes belong to the user you are talking to. If a tool fails, say so."
)]
pub(crate) trait Assistant {
    /// Streams one turn of the conversation with `user`. `form` describes the format of the answer.
    fn stream(
        &self,
        #[memory_id] user: &str,
        #[v] form: &str,
        #[user_message] text: &str,
    ) -> AnswerStream;

    /// Runs one turn without streaming, for models that cannot stream.
    async fn chat(
        &self,
        #[memory_id] user: &str,
        #[v] form: &str,
        #[user_message] text: &str,
    ) -> Result<Response<String>>;
}

/// Builds the service with its conversations in `store`. Streams deliver their own events; without streaming,
/// a listener shows the events on `screen`.
pub(crate) fn build(
    model: Arc<dyn ChatModel>,
    store: Arc<dyn ConversationStore>,
    options: ChatOptions,
    screen: Screen,
) -> Result<AssistantService> {
    let builder = AssistantService::builder()
        .chat_model(model)
        .chat_memory_provider(move |user: &MemoryId| {
            MessageWindowChatMemory::builder()
                .id(user)
                .max_messages(WINDOW_MESSAGES)
                .store(store.clone())
                .build()
        })
        .tools(Desk::default())
        .max_tool_rounds(MAX_TOOL_ROUNDS);
    match options.delivery {
        Delivery::Streamed => builder.build(),
        Delivery::Whole => builder.listener(event_listener(options, screen)).build(),
    }
}

/// Creates a listener that shows the events of a call without streaming.
fn event_listener(
    options: ChatOptions,
    screen: Screen,
) -> impl Fn(&Call<'_>, &Event<'_>) + Send + Sync + 'static {
    move |_: &Call<'_>, event: &Event<'_>| match event {
        Event::RequestIssued { .. } => screen.waiting_for_model(),
        Event::ResponseReceived { response } if options.style.shows_thinking() => {
            if let Some(thinking) = response.message.thinking() {
                screen.thinking_line(thinking);
            }
        }
        Event::ToolStarted { call } => screen.working_on(call.name()),
        Event::ToolFinished { execution } => screen.tool(execution),
        _ => {}
    }
}
