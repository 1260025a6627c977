//! The cases, implemented with a service.

use ai_services::memory::{
    ApproximateCounter, ChatMemory, ChatMemoryStore, MemoryId, MessageWindowChatMemory,
    TokenCountEstimator, TokenWindowChatMemory,
};
use ai_services::message::{AiMessage, ChatMessage, ToolCall};
use ai_services::model::{ChatModel, ChatRequest, ChatResponse};
use ai_services::providers::openai::OpenAiChatModel;
use ai_services::record::TurnRecorder;
use ai_services::{Budget, DurableTurns, Response, ai_service, tools};
use std::hint::black_box;
use std::sync::Arc;
use tokio::runtime::{Builder, Runtime};

/// The text of every message, prompt and answer: 197 bytes of English.
pub const TEXT: &str = "The quick brown fox jumps over the lazy dog while a patient engineer \
    measures latency, throughput and memory on a small shared machine, hoping that the medians of \
    many short interleaved runs agree.";

/// The system message of [`Assistant`].
pub const SYSTEM: &str =
    "You are a careful assistant. Answer briefly, in plain words. Never invent figures.";

/// The memory id of all calls.
pub const USER: &str = "ann";

/// The model name of all requests.
pub const MODEL: &str = "gpt-4o-mini";

/// Number of answers of the tool loop that call the tool.
pub const ROUNDS: usize = 5;

/// The service under test.
#[ai_service]
#[system_message(
    "You are a careful assistant. Answer briefly, in plain words. Never invent figures."
)]
pub trait Assistant {
    /// A call with memory.
    async fn chat(
        &self,
        #[memory_id] user: &str,
        #[user_message] text: &str,
    ) -> ai_services::Result<String>;

    /// A call without memory; returns the answer with its tool executions.
    async fn research(&self, text: &str) -> ai_services::Result<Response<String>>;
}

/// Returns the single-threaded runtime of all cases.
#[must_use]
pub fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// An in-process model that reads every message and returns [`TEXT`].
#[derive(Debug)]
pub struct ReadingModel;

#[ai_services::async_trait]
impl ChatModel for ReadingModel {
    async fn chat(&self, request: &ChatRequest) -> ai_services::Result<ChatResponse> {
        let lengths = request.messages().map(|message| message.text().map_or(0, str::len));
        black_box(lengths.sum::<usize>());
        Ok(ChatResponse::new(AiMessage::new(TEXT)))
    }
}

/// Returns a service with a history of `history` messages, an even number.
///
/// Before and after every call the memory has this many messages, and every request sends all of them. The
/// window also counts the system message and the new user message. Without a history, the window still needs
/// room for an answer; the memory then holds the last turn, which is evicted before the next one.
pub async fn assistant(model: impl ChatModel + 'static, history: usize) -> AssistantService {
    assistant_with(model, history, None).await
}

/// Returns an [`assistant`] whose turns are recorded, and whose records are discarded.
pub async fn recorded_assistant(
    model: impl ChatModel + 'static,
    history: usize,
) -> AssistantService {
    assistant_with(model, history, Some(TurnRecorder::new(drop))).await
}

async fn assistant_with(
    model: impl ChatModel + 'static,
    history: usize,
    recorder: Option<TurnRecorder>,
) -> AssistantService {
    let window = (history + 2).max(3);
    let builder =
        AssistantService::builder().chat_model(model).chat_memory_provider(move |id: &MemoryId| {
            MessageWindowChatMemory::builder().id(id).max_messages(window).build()
        });
    let builder = match recorder {
        Some(recorder) => builder.listener(recorder.listener()),
        None => builder,
    };
    let assistant = builder.build().unwrap();
    assistant.chat_memory(USER).unwrap().set(self::history(history)).await.unwrap();
    // The setup of the first call is not measured.
    assistant.chat(USER, TEXT).await.unwrap();
    assistant
}

/// Returns an [`assistant`] with a server of OpenAI's protocol.
pub async fn remote_assistant(url: &str, history: usize) -> AssistantService {
    let model = OpenAiChatModel::builder().base_url(url).api_key("key").model(MODEL);
    assistant(model.build().unwrap(), history).await
}

/// Returns alternating messages of user and assistant.
#[must_use]
pub fn history(messages: usize) -> Vec<ChatMessage> {
    let both = [ChatMessage::user, ChatMessage::ai];
    both.iter().cycle().take(messages).map(|message| message(TEXT)).collect()
}

/// An in-process model that calls [`Facts::lookup`] in [`ROUNDS`] answers and then returns [`TEXT`].
#[derive(Debug)]
pub struct CallingModel;

#[ai_services::async_trait]
impl ChatModel for CallingModel {
    async fn chat(&self, request: &ChatRequest) -> ai_services::Result<ChatResponse> {
        let round = request.messages().filter(|message| message.is_tool_result()).count();
        if round == ROUNDS {
            return Ok(ChatResponse::new(AiMessage::new(TEXT)));
        }
        let call = ToolCall::new(call_id(round), "lookup", arguments(round));
        Ok(ChatResponse::new(AiMessage::builder().tool_calls([call]).build()))
    }
}

/// Returns the id of the tool call of a round.
#[must_use]
pub fn call_id(round: usize) -> String {
    format!("call_{round}")
}

/// Returns the arguments of the tool call of a round.
#[must_use]
pub fn arguments(round: usize) -> String {
    format!(r#"{{"query":"round {round}","limit":3}}"#)
}

/// A tool with arguments to parse.
#[derive(Debug)]
pub struct Facts;

#[tools]
impl Facts {
    /// Looks a fact up in the reference table.
    #[tool]
    pub async fn lookup(
        &self,
        /// The fact to look up.
        query: String,
        /// How many facts.
        limit: u32,
    ) -> String {
        fact(&query, limit)
    }
}

/// Returns the result of the tool.
#[must_use]
pub fn fact(query: &str, limit: u32) -> String {
    format!("{limit} results for {query}")
}

/// Returns a service with the tool.
#[must_use]
pub fn researcher() -> AssistantService {
    AssistantService::builder()
        .chat_model(CallingModel)
        .chat_memory_provider(|id: &MemoryId| {
            MessageWindowChatMemory::builder().id(id).max_messages(10).build()
        })
        .tools(Facts)
        .build()
        .unwrap()
}

/// Durability of the turns of a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turns {
    /// A turn ends with its process.
    Plain,
    /// A turn that calls tools has a journal.
    Durable,
}

/// Returns a service with the tool and a memory in `store`.
#[must_use]
pub fn shop(
    model: impl ChatModel + 'static,
    store: Arc<dyn ChatMemoryStore>,
    turns: Turns,
) -> AssistantService {
    let builder = AssistantService::builder()
        .chat_model(model)
        .chat_memory_provider(move |id: &MemoryId| {
            let window = MessageWindowChatMemory::builder().id(id).max_messages(1_000);
            window.store(Arc::clone(&store)).build()
        })
        .budget(Budget::new().tool_rounds(1_000))
        .tools(Facts);
    match turns {
        Turns::Plain => builder,
        Turns::Durable => builder.durable_turns(DurableTurns::new()),
    }
    .build()
    .unwrap()
}

/// Returns a full window of `messages` messages.
pub async fn message_window(messages: usize) -> MessageWindowChatMemory {
    let memory = MessageWindowChatMemory::with_max_messages(messages);
    memory.set(history(messages)).await.unwrap();
    memory
}

/// Returns a full window with the number of tokens of `messages` messages.
pub async fn token_window(messages: usize) -> TokenWindowChatMemory {
    let counter = ApproximateCounter;
    let tokens = counter.count_messages(&history(messages)).unwrap();
    let memory = TokenWindowChatMemory::builder().max_tokens(tokens, counter).build().unwrap();
    memory.set(history(messages)).await.unwrap();
    memory
}

/// Adds the messages of a turn: first the user message, then the answer.
pub async fn add_turn(memory: &impl ChatMemory) {
    memory.add(ChatMessage::user(TEXT)).await.unwrap();
    memory.add(ChatMessage::ai(TEXT)).await.unwrap();
}
