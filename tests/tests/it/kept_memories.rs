//! Memories that live in the service while a bound limits the idle ones, under load.

use ai_services::memory::MessageWindowChatMemory;
use ai_services::message::{AiMessage, ChatMessage};
use ai_services::model::{ChatModel, ChatRequest, ChatResponse};
use ai_services::{ai_service, async_trait};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

#[ai_service]
trait Counter {
    async fn count(
        &self,
        #[memory_id] id: usize,
        #[user_message] text: usize,
    ) -> ai_services::Result<String>;
}

/// Number of ids, and largest number of idle memories.
const IDS: usize = 5;

const TASKS: usize = 4;

/// Violations that the model and the memory provider observed.
#[derive(Debug, Default)]
struct Violations {
    created: AtomicUsize,
    shrunk: AtomicUsize,
    concurrent: AtomicUsize,
}

/// The calls of one id, as the model sees them.
#[derive(Default)]
struct Conversation {
    is_running: AtomicBool,
    answers: AtomicU64,
}

/// Answers with the number of its calls for the id. The history must end with the number before it.
struct Counting {
    conversations: [Conversation; IDS],
    violations: Arc<Violations>,
}

#[async_trait]
impl ChatModel for Counting {
    async fn chat(&self, request: &ChatRequest) -> ai_services::Result<ChatResponse> {
        let messages: Vec<_> = request.messages().filter_map(ChatMessage::text).collect();
        let [history @ .., id] = &*messages else { panic!("no message") };
        let conversation = &self.conversations[id.parse::<usize>().unwrap()];
        if conversation.is_running.swap(true, Ordering::SeqCst) {
            self.violations.concurrent.fetch_add(1, Ordering::SeqCst);
        }
        tokio::task::yield_now().await;
        let before = conversation.answers.fetch_add(1, Ordering::SeqCst);
        let last = history.last().map_or(0, |last| last.parse().unwrap());
        if last != before {
            self.violations.shrunk.fetch_add(1, Ordering::SeqCst);
        }
        conversation.is_running.store(false, Ordering::SeqCst);
        Ok(ChatResponse::new(AiMessage::new((before + 1).to_string())))
    }
}

/// Makes `calls` calls from several tasks, with one memory for each id.
async fn count(calls: usize) -> Arc<Violations> {
    let violations = Arc::<Violations>::default();
    let (model, provider) = (Arc::clone(&violations), Arc::clone(&violations));
    let counter = CounterService::builder()
        .chat_model(Counting { conversations: Default::default(), violations: model })
        .chat_memory_provider(move |id| {
            provider.created.fetch_add(1, Ordering::SeqCst);
            MessageWindowChatMemory::builder().id(id).max_messages(4).build()
        })
        .max_kept_memories(IDS)
        .build()
        .unwrap();
    let mut tasks = tokio::task::JoinSet::new();
    for task in 0..TASKS {
        let counter = counter.clone();
        tasks.spawn(async move {
            for n in 0..calls / TASKS {
                let id = (n * (task + 1) + task) % IDS;
                counter.count(id, id).await.unwrap();
            }
        });
    }
    tasks.join_all().await;
    violations
}

fn check(violations: &Violations) {
    let of = |count: &AtomicUsize| count.load(Ordering::SeqCst);
    assert_eq!(of(&violations.created), IDS, "{violations:?}");
    assert_eq!((of(&violations.shrunk), of(&violations.concurrent)), (0, 0), "{violations:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn memories_within_the_bound_are_never_dropped() {
    check(&*count(40_000).await);
}

/// The same with as many calls as a busy process makes in a day. Takes minutes without optimization.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "takes minutes; run it after a change of the queues"]
async fn memories_within_the_bound_survive_two_million_calls() {
    check(&*count(2_000_000).await);
}
