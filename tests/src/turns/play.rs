//! Plays turns with a real service.

use ai_services::memory::{ConversationStore, MemoryId, MessageWindowChatMemory, RequestId};
use ai_services::message::{AiMessage, ChatMessage, ToolCall, ToolResult};
use ai_services::model::{ChatModel, ChatRequest, ChatResponse};
use ai_services::{ErrorKind, InvocationContext, Result, ai_service, async_trait, tool};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Window of the memory, in messages: small, so that most commits evict messages.
pub(super) const WINDOW: usize = 10;

/// An assistant that repeats the message.
#[ai_service]
trait Parrot {
    /// One turn.
    async fn repeat(
        &self,
        #[memory_id] id: &str,
        #[context] context: InvocationContext,
        #[user_message] tag: &str,
    ) -> Result<String>;
}

/// Plays turns on one store.
#[derive(Clone, Debug)]
pub struct Player {
    service: ParrotService,
    requests: Arc<LastRequests>,
}

/// Outcome of a turn without a store error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Played {
    /// Number of restarts because of conflicts.
    pub conflicts: u64,
    /// The tags of the earlier turns in the last request, oldest first.
    pub earlier: Vec<String>,
}

/// The tags of the earlier turns in the last request of each turn, by its tag.
type LastRequests = Mutex<HashMap<String, Vec<String>>>;

impl Player {
    /// Creates a player on this store.
    ///
    /// # Errors
    ///
    /// Fails if the service cannot be built.
    pub fn new(store: Arc<dyn ConversationStore>) -> Result<Self> {
        let requests = Arc::new(LastRequests::default());
        let service = ParrotService::builder()
            .chat_model(Echo(Arc::clone(&requests)))
            .chat_memory_provider(move |id: &MemoryId| {
                let window = MessageWindowChatMemory::builder().id(id).max_messages(WINDOW);
                window.store(Arc::clone(&store)).build()
            })
            .tools(look::tool())
            .build()?;
        Ok(Self { service, requests })
    }

    /// Plays one turn, with its tag as the id of the request. Restarts it on conflicts.
    ///
    /// # Errors
    ///
    /// Fails if the store fails.
    pub async fn play(&self, id: &str, tag: &str) -> Result<Played> {
        let context = InvocationContext::new().with(RequestId::new(tag)?);
        let mut conflicts = 0;
        loop {
            match self.service.repeat(id, context.clone(), tag).await {
                Ok(_) => {
                    let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
                    let earlier = requests.remove(tag).unwrap_or_default();
                    return Ok(Played { conflicts, earlier });
                }
                Err(error) if error.kind() == ErrorKind::Conflict && error.is_retryable() => {
                    conflicts += 1;
                }
                Err(error) => return Err(error),
            }
        }
    }
}

/// Returns the messages of the turn with this tag.
#[must_use]
pub fn messages(tag: &str) -> Vec<ChatMessage> {
    let mut turn = vec![ChatMessage::user(tag)];
    if uses_tool(tag) {
        let call = ToolCall::new("1", "look", "{}");
        turn.push(AiMessage::builder().tool_calls([call]).build().into());
        turn.push(ToolResult::new("1", "look", tag).into());
    }
    turn.push(ChatMessage::ai(answer(tag)));
    turn
}

/// Looks up a tag.
#[tool]
fn look(
    /// The tag of the turn.
    tag: String,
) -> String {
    tag
}

/// Returns `true` if the turn with this tag calls a tool.
pub(super) fn uses_tool(tag: &str) -> bool {
    tag.bytes().map(u32::from).sum::<u32>() % 3 == 0
}

/// Returns the answer of the assistant.
pub(super) fn answer(tag: &str) -> String {
    format!("re: {tag}")
}

#[derive(Debug)]
struct Echo(Arc<LastRequests>);

#[async_trait]
impl ChatModel for Echo {
    async fn chat(&self, request: &ChatRequest) -> Result<ChatResponse> {
        let asked = request.messages().filter(|message| message.is_user());
        let mut earlier: Vec<_> = asked.filter_map(ChatMessage::text).map(str::to_owned).collect();
        let tag = earlier.pop().unwrap_or_default();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(tag.clone(), earlier);
        let has_looked = request.messages().next_back().is_some_and(ChatMessage::is_tool_result);
        let message = if uses_tool(&tag) && !has_looked {
            let arguments = serde_json::json!({ "tag": tag }).to_string();
            AiMessage::builder().tool_calls([ToolCall::new("1", "look", arguments)]).build()
        } else {
            AiMessage::new(answer(&tag))
        };
        Ok(ChatResponse::new(message))
    }
}
