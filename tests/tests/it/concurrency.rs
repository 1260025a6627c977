//! Concurrent calls on one id: turns are stored in order, complete and without interleaving, and
//! failed turns are not stored.

use ai_services::memory::{ChatMemory, InMemoryChatMemoryStore, MemoryId, MessageWindowChatMemory};
use ai_services::message::{AiMessage, ChatMessage, ToolCall};
use ai_services::model::{ChatModel, ChatRequest, ChatResponse};
use ai_services::{Error, ErrorKind, ai_service, async_trait, tools};
use futures_util::future::join_all;
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

#[ai_service]
trait Chat {
    async fn chat(
        &self,
        #[memory_id] room: &str,
        #[user_message] text: &str,
    ) -> ai_services::Result<String>;
}

fn service(model: impl ChatModel + 'static) -> ChatService {
    let store = Arc::new(InMemoryChatMemoryStore::new());
    ChatService::builder()
        .chat_model(model)
        .chat_memory_provider(move |id: &MemoryId| {
            let builder = MessageWindowChatMemory::builder().id(id).max_messages(100_000);
            builder.store(Arc::clone(&store)).build()
        })
        .build()
        .unwrap()
}

async fn remembered(chat: &ChatService) -> Vec<ChatMessage> {
    chat.chat_memory("room").unwrap().messages().await.unwrap()
}

/// A slow model that echoes the last message, and fails if it contains "fail".
struct SlowEcho {
    delay: Duration,
}

#[async_trait]
impl ChatModel for SlowEcho {
    async fn chat(&self, request: &ChatRequest) -> ai_services::Result<ChatResponse> {
        let text = request.messages().last().and_then(ChatMessage::text).unwrap_or_default();
        tokio::time::sleep(self.delay).await;
        if text.contains("fail") {
            return Err(Error::new(ErrorKind::Unavailable, "simulated failure"));
        }
        Ok(ChatResponse::new(AiMessage::new(format!("re: {text}"))))
    }
}

/// Returns the user texts of the turns in a memory. Panics if a turn is incomplete.
fn turns(messages: &[ChatMessage]) -> Vec<String> {
    let turn = |turn: &[ChatMessage]| match turn {
        [ChatMessage::User(user), ChatMessage::Ai(ai)] => {
            let text = user.text().unwrap().to_owned();
            assert_eq!(ai.text().unwrap(), format!("re: {text}"));
            text
        }
        other => panic!("not a turn: {other:?}"),
    };
    messages.chunks(2).map(turn).collect()
}

#[tokio::test(start_paused = true)]
async fn turns_of_eight_tasks_are_stored_in_order() {
    let chat = service(SlowEcho { delay: Duration::from_millis(3) });
    let tasks = (0..8).map(|task| {
        let chat = chat.clone();
        async move {
            for n in 0..1_000 {
                chat.chat("room", &format!("{task} {n}")).await.unwrap();
            }
        }
    });
    join_all(tasks).await;
    let turns = turns(&remembered(&chat).await);
    assert_eq!(turns.len(), 8_000);
    for task in 0..8 {
        let of_task = turns.iter().filter_map(|turn| turn.strip_prefix(&format!("{task} ")));
        assert!(of_task.eq((0..1_000).map(|n| n.to_string())));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn threads_do_not_interleave_turns() {
    let chat = service(SlowEcho { delay: Duration::ZERO });
    let mut tasks = tokio::task::JoinSet::new();
    for task in 0..8 {
        let chat = chat.clone();
        tasks.spawn(async move {
            for n in 0..50 {
                chat.chat("room", &format!("{task} {n}")).await.unwrap();
            }
        });
    }
    tasks.join_all().await;
    assert_eq!(turns(&remembered(&chat).await).len(), 400);
}

/// A small deterministic random number generator.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

#[tokio::test(start_paused = true)]
async fn memory_contains_exactly_the_successful_turns() {
    let chat = service(SlowEcho { delay: Duration::from_millis(10) });
    let succeeded = Arc::new(Mutex::new(Vec::new()));
    let tasks = (0..8_u64).map(|task| {
        let (chat, succeeded) = (chat.clone(), Arc::clone(&succeeded));
        async move {
            let mut random = Random(task);
            for n in 0..1_000 {
                let fails = if random.below(4) == 0 { "fail" } else { "" };
                let text = format!("{task} {n} {fails}");
                // Most timeouts expire while the call waits in the queue, some while the model
                // runs.
                let limit = Duration::from_millis(random.below(200));
                let outcome = tokio::time::timeout(limit, chat.chat("room", &text)).await;
                if let Ok(Ok(_)) = outcome {
                    succeeded.lock().unwrap().push(text);
                }
            }
        }
    });
    join_all(tasks).await;
    let turns = turns(&remembered(&chat).await);
    let succeeded = succeeded.lock().unwrap();
    assert_eq!(turns, *succeeded);
    assert!((1_000..7_000).contains(&succeeded.len()), "{} of 8000", succeeded.len());
}

/// A model that yields several times before each answer, and calls a tool first.
struct YieldingModel;

#[async_trait]
impl ChatModel for YieldingModel {
    async fn chat(&self, request: &ChatRequest) -> ai_services::Result<ChatResponse> {
        for _ in 0..3 {
            tokio::task::yield_now().await;
        }
        let message = match request.messages().last() {
            Some(ChatMessage::User(_)) => {
                AiMessage::builder().tool_calls([ToolCall::new("1", "wait", "{}")]).build()
            }
            _ => AiMessage::new("done"),
        };
        Ok(ChatResponse::new(message))
    }
}

#[derive(Default)]
struct WaitTool(AtomicU64);

#[tools]
impl WaitTool {
    /// Waits.
    #[tool]
    async fn wait(&self) {
        tokio::task::yield_now().await;
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[tokio::test]
async fn call_dropped_at_any_poll_leaves_memory_unchanged() {
    let waiting = Arc::new(WaitTool::default());
    let chat = ChatService::builder()
        .chat_model(YieldingModel)
        .chat_memory_provider(|id: &MemoryId| {
            MessageWindowChatMemory::builder().id(id).max_messages(100).build()
        })
        .tools(Arc::clone(&waiting))
        .build()
        .unwrap();
    chat.chat("room", "first").await.unwrap();
    let before = remembered(&chat).await;
    let mut polls = 0;
    loop {
        let done = {
            let mut call = pin!(chat.chat("room", "again"));
            let mut context = Context::from_waker(Waker::noop());
            (0..polls).any(|_| matches!(call.as_mut().poll(&mut context), Poll::Ready(Ok(_))))
        };
        if done {
            break;
        }
        assert_eq!(remembered(&chat).await, before, "after {polls} polls");
        polls += 1;
    }
    assert!(polls > 5, "the call finished after only {polls} polls");
    assert_eq!(remembered(&chat).await.len(), 2 * before.len());
    assert!(waiting.0.load(Ordering::SeqCst) > 2, "tools must also have run in dropped calls");
}

#[tokio::test]
async fn waiting_calls_run_in_the_order_of_arrival() {
    let chat = service(SlowEcho { delay: Duration::ZERO });
    let calls: Vec<_> = (0..20).map(|n| n.to_string()).collect();
    join_all(calls.iter().map(|text| chat.chat("room", text))).await;
    assert_eq!(turns(&remembered(&chat).await), calls);
}

#[tokio::test(start_paused = true)]
async fn calls_for_different_ids_run_concurrently() {
    let chat = service(SlowEcho { delay: Duration::from_secs(1) });
    let rooms: Vec<_> = (0..50).map(|n| n.to_string()).collect();
    let started = tokio::time::Instant::now();
    join_all(rooms.iter().map(|room| chat.chat(room, "hi"))).await;
    assert_eq!(started.elapsed().as_millis(), 1_000);
}
