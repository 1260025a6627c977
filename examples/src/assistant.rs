//! The AI service behind the chat: what the model is told, its memory, its tools.

use crate::screen::Screen;
use crate::tools::Desk;
use crate::turn::{Delivery, Manner};
use ai_services::event::{Call, Event, Listener};
use ai_services::memory::{ConversationStore, MemoryId, MessageWindowChatMemory};
use ai_services::model::ChatModel;
use ai_services::{AnswerStream, Response, Result, ai_service};
use std::sync::Arc;

/// How many messages of each user are remembered. A turn with one tool call takes four. Small local
/// models read 8,192 tokens, and even answers of 256 tokens each leave room for the tools then.
const REMEMBERED_MESSAGES: usize = 24;

/// How often the model may look at results and call more tools, so that a turn fits the memory.
const MOST_TOOL_ROUNDS: usize = 8;

/// A helpful assistant for several users.
#[ai_service]
#[system_message(
    "You are an assistant in a terminal. It is {{current_date_time}}.",
    "Answer in the language of the question, briefly, {{form}}.",
    "Use the tools where they help: never calculate in your head, never guess the time.",
    "Notes belong to the user you are talking to. If a tool fails, say so."
)]
pub(crate) trait Assistant {
    /// One turn of the conversation with `user`, as it happens. `form` is that of the answer.
    fn stream(
        &self,
        #[memory_id] user: &str,
        #[v] form: &str,
        #[user_message] text: &str,
    ) -> AnswerStream;

    /// The same at once, for models that cannot stream.
    async fn chat(
        &self,
        #[memory_id] user: &str,
        #[v] form: &str,
        #[user_message] text: &str,
    ) -> Result<Response<String>>;
}

/// The service, which remembers in `store`. Streams tell what happens; for answers that come whole, a
/// listener shows it on `screen`.
pub(crate) fn build(
    model: Arc<dyn ChatModel>,
    store: Arc<dyn ConversationStore>,
    manner: Manner,
    screen: Screen,
) -> Result<AssistantService> {
    let builder = AssistantService::builder()
        .chat_model(model)
        .chat_memory_provider(move |user: &MemoryId| {
            MessageWindowChatMemory::builder()
                .id(user)
                .max_messages(REMEMBERED_MESSAGES)
                .store(store.clone())
                .build()
        })
        .tools(Desk::default())
        .max_tool_rounds(MOST_TOOL_ROUNDS);
    match manner.delivery {
        Delivery::Streamed => builder.build(),
        Delivery::Whole => builder.listener(watcher(manner, screen)).build(),
    }
}

/// Shows what happens on the way to an answer that comes whole.
fn watcher(manner: Manner, screen: Screen) -> impl Listener + 'static {
    move |_: &Call<'_>, event: &Event<'_>| match event {
        Event::RequestIssued { .. } => screen.thinking(),
        Event::ResponseReceived { response } if manner.look.thinking() => {
            if let Some(thought) = response.message.thinking() {
                screen.thought(thought);
            }
        }
        Event::ToolStarted { call } => screen.working_on(call.name()),
        Event::ToolFinished { execution } => screen.tool(execution),
        _ => {}
    }
}
