//! The AI service of the chat: prompt, memory and tools.

use crate::screen::Screen;
use crate::tools::Desk;
use crate::turn::{ChatOptions, Delivery};
use ai_services::event::{Call, Event};
use ai_services::mcp::McpTools;
use ai_services::memory::{ConversationStore, MemoryId, MessageWindowChatMemory};
use ai_services::model::ChatModel;
use ai_services::tool::{Effect, Tool, ToolSet};
use ai_services::{AnswerStream, Budget, DurableTurns, Response, Result, ai_service};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Number of messages in the window of each user. A turn with one tool call has four messages. Small local
/// models read 8,192 tokens, which leaves room for the tools even if every answer has 256 tokens.
const WINDOW_MESSAGES: usize = 24;

/// Maximum number of rounds of tool calls in a turn, so that a turn fits into the window.
const MAX_TOOL_ROUNDS: u64 = 8;

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

/// Builds the service with its conversations in `store` and the tools of MCP servers.
pub(crate) fn build(
    model: Arc<dyn ChatModel>,
    store: Arc<dyn ConversationStore>,
    mcp: McpTools,
    options: ChatOptions,
    listener: impl Fn(&Call<'_>, &Event<'_>) + Send + Sync + 'static,
) -> Result<AssistantService> {
    let tools = Arc::new(Desk::default()).tools();
    let tools = if options.asks_approval { with_approval(tools) } else { tools };
    let mut builder = AssistantService::builder()
        .chat_model(model)
        .chat_memory_provider(move |user: &MemoryId| {
            MessageWindowChatMemory::builder()
                .id(user)
                .max_messages(WINDOW_MESSAGES)
                .store(store.clone())
                .build()
        })
        .tools(tools)
        .tool_provider(mcp)
        .budget(Budget::new().tool_rounds(MAX_TOOL_ROUNDS));
    if options.asks_approval {
        builder = builder.durable_turns(DurableTurns::new());
    }
    builder.listener(listener).build()
}

/// Makes the tools with effects wait for approval.
fn with_approval(tools: Vec<Tool>) -> Vec<Tool> {
    let tools = tools.into_iter().map(|tool| match tool.effect() {
        Effect::ReadOnly => tool,
        _ => tool.requiring_approval(),
    });
    tools.collect()
}

/// Creates a listener that shows the events of a call that is not a stream. Streams deliver their own events.
pub(crate) fn event_listener(
    options: ChatOptions,
    screen: Screen,
) -> impl Fn(&Call<'_>, &Event<'_>) + Send + Sync + 'static {
    let is_whole = options.delivery == Delivery::Whole;
    let is_shown = AtomicBool::new(is_whole);
    move |_: &Call<'_>, event: &Event<'_>| match event {
        // A turn is resumed without a stream.
        Event::TurnResumed { .. } => is_shown.store(true, Ordering::Relaxed),
        Event::Completed { .. }
        | Event::Suspended { .. }
        | Event::Failed { .. }
        | Event::Cancelled => is_shown.store(is_whole, Ordering::Relaxed),
        event if is_shown.load(Ordering::Relaxed) => show(event, options, &screen),
        _ => {}
    }
}

fn show(event: &Event<'_>, options: ChatOptions, screen: &Screen) {
    match event {
        Event::RequestIssued { .. } => screen.waiting_for_model(),
        Event::ResponseReceived { response } if options.style.shows_thinking() => {
            if let Some(thinking) = response.message.thinking() {
                screen.thinking_line(thinking);
            }
        }
        Event::ToolStarted { call } => screen.working_on(call.name()),
        Event::ToolProgressed { call, progress } => screen.progress(call.name(), progress),
        Event::ToolFinished { execution } => screen.tool(execution),
        _ => {}
    }
}
