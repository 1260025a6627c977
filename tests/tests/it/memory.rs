//! Chat memory of a service: separate per id, one commit per turn, unchanged by failed calls.

use ai_services::memory::{
    Change, ChatMemory, ChatMemoryStore, InMemoryChatMemoryStore, MemoryId, MessageWindowChatMemory,
};
use ai_services::message::{AiMessage, ChatMessage, ToolCall};
use ai_services::model::TokenUsage;
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use ai_services::{ConcurrentCalls, Error, ErrorKind, ai_service};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

#[ai_service]
trait Assistant {
    #[system_message("Be brief.")]
    async fn chat(
        &self,
        #[memory_id] user: &str,
        #[user_message] text: &str,
    ) -> ai_services::Result<String>;

    async fn aside(&self, text: &str) -> ai_services::Result<String>;
}

fn window(max: usize) -> impl Fn(&MemoryId) -> ai_services::Result<MessageWindowChatMemory> {
    move |id: &MemoryId| MessageWindowChatMemory::builder().id(id).max_messages(max).build()
}

fn assistant(model: &ScriptedChatModel) -> AssistantService {
    AssistantService::builder()
        .chat_model(model.clone())
        .chat_memory_provider(window(20))
        .build()
        .unwrap()
}

async fn remembered(assistant: &AssistantService, user: &str) -> Vec<ChatMessage> {
    assistant.chat_memory(user).unwrap().messages().await.unwrap()
}

/// Each call in flight holds its future: at 1,000 users, 1 KB is 1 MB that leaves the caches.
#[test]
fn future_of_a_call_is_small() {
    let assistant = assistant(&ScriptedChatModel::replies(["Hi."]));
    let bytes = size_of_val(&*assistant.chat("ann", "Hi."));
    assert!(bytes <= 3_072, "the future of a call has {bytes} bytes");
}

#[tokio::test]
async fn memory_is_separate_per_id() {
    let model = ScriptedChatModel::replies(["Hello, Ann.", "Hello, Bob.", "Ann."]);
    let assistant = assistant(&model);
    assistant.chat("ann", "I am Ann.").await.unwrap();
    assistant.chat("bob", "I am Bob.").await.unwrap();
    assistant.chat("ann", "Who am I?").await.unwrap();
    assert_eq!(
        model.messages_of(2),
        [
            ChatMessage::system("Be brief."),
            ChatMessage::user("I am Ann."),
            ChatMessage::ai("Hello, Ann."),
            ChatMessage::user("Who am I?"),
        ]
    );
    assert_eq!(
        remembered(&assistant, "bob").await,
        [ChatMessage::user("I am Bob."), ChatMessage::ai("Hello, Bob.")]
    );
}

#[tokio::test]
async fn method_without_an_id_uses_the_default_memory() {
    let model = ScriptedChatModel::from_fn(|_, _| ScriptedAnswer::text("ok"));
    let without_memory = assistant(&model);
    without_memory.aside("1").await.unwrap();
    without_memory.aside("2").await.unwrap();
    assert_eq!(model.messages_of(1), [ChatMessage::user("2")]);

    let memory = Arc::new(MessageWindowChatMemory::with_max_messages(10));
    let with_memory = AssistantService::builder()
        .chat_model(model.clone())
        .chat_memory_provider(window(20))
        .chat_memory(Arc::clone(&memory))
        .build()
        .unwrap();
    with_memory.aside("3").await.unwrap();
    with_memory.chat("ann", "4").await.unwrap();
    assert_eq!(memory.messages().await.unwrap(), [ChatMessage::user("3"), ChatMessage::ai("ok")]);
}

#[tokio::test]
async fn failed_call_leaves_memory_unchanged() {
    let model = ScriptedChatModel::new([
        ScriptedAnswer::text("Hello."),
        ScriptedAnswer::error(ErrorKind::Unavailable, "down"),
        ScriptedAnswer::tool_calls([ToolCall::new("1", "nope", "{}")]),
        ScriptedAnswer::error(ErrorKind::Unavailable, "down"),
        AiMessage::builder().refusal("no").build().into_answer(),
        ScriptedAnswer::text("Fine."),
    ]);
    let assistant = assistant(&model);
    assistant.chat("ann", "Hi").await.unwrap();
    let before = remembered(&assistant, "ann").await;
    for kind in [ErrorKind::Unavailable, ErrorKind::Unavailable, ErrorKind::Refused] {
        assert_eq!(assistant.chat("ann", "How are you?").await.unwrap_err().kind(), kind);
        assert_eq!(remembered(&assistant, "ann").await, before);
    }
    assistant.chat("ann", "How are you?").await.unwrap();
    assert_eq!(remembered(&assistant, "ann").await.len(), 4);
}

trait IntoAnswer {
    fn into_answer(self) -> ScriptedAnswer;
}

impl IntoAnswer for AiMessage {
    fn into_answer(self) -> ScriptedAnswer {
        ai_services::model::ChatResponse::new(self).into()
    }
}

#[tokio::test]
async fn window_keeps_the_newest_whole_turns() {
    let model = ScriptedChatModel::from_fn(|_, _| ScriptedAnswer::text("ok"));
    let assistant = AssistantService::builder()
        .chat_model(model.clone())
        .chat_memory_provider(window(4))
        .build()
        .unwrap();
    for text in ["1", "2", "3"] {
        assistant.chat("ann", text).await.unwrap();
    }
    assert_eq!(
        model.messages_of(2),
        [
            ChatMessage::system("Be brief."),
            ChatMessage::user("2"),
            ChatMessage::ai("ok"),
            ChatMessage::user("3"),
        ]
    );
}

#[tokio::test]
async fn turn_larger_than_the_window_is_an_error() {
    let model = ScriptedChatModel::new([ScriptedAnswer::tool_calls([
        ToolCall::new("1", "a", "{}"),
        ToolCall::new("2", "b", "{}"),
    ])]);
    let assistant = AssistantService::builder()
        .chat_model(model)
        .chat_memory_provider(window(4))
        .build()
        .unwrap();
    let error = assistant.chat("ann", "go").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TurnTooLarge);
    assert!(remembered(&assistant, "ann").await.is_empty());
}

#[tokio::test]
async fn memory_of_another_id_is_rejected() {
    let assistant = AssistantService::builder()
        .chat_model(ScriptedChatModel::replies(["never"]))
        .chat_memory_provider(|_: &MemoryId| MessageWindowChatMemory::with_max_messages(9))
        .build()
        .unwrap();
    let error = assistant.chat("ann", "Hi").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration);
    assert!(error.to_string().contains("id `default`"), "{error}");
}

#[tokio::test]
async fn empty_id_is_rejected() {
    let model = ScriptedChatModel::replies(["never"]);
    let error = assistant(&model).chat("", "Hi").await.unwrap_err();
    assert_eq!(error.to_string(), "the memory id of a call of `chat` is empty");
    assert!(model.requests().is_empty());
}

#[tokio::test]
async fn turn_without_tools_is_retried_after_a_conflict() {
    let store = Arc::new(InMemoryChatMemoryStore::new());
    let other_writer = Arc::clone(&store);
    let model = ScriptedChatModel::from_fn(move |number, _| {
        if number == 0 {
            let messages = [ChatMessage::user("between"), ChatMessage::ai("yes")];
            let id = MemoryId::from("ann");
            futures_util::future::FutureExt::now_or_never(
                other_writer.update_messages(&id, &messages),
            )
            .unwrap()
            .unwrap();
        }
        ScriptedAnswer::text("ok")
    });
    let shared = Arc::clone(&store);
    let assistant = AssistantService::builder()
        .chat_model(model.clone())
        .chat_memory_provider(move |id: &MemoryId| {
            let builder = MessageWindowChatMemory::builder().id(id).max_messages(20);
            builder.store(Arc::clone(&shared)).build()
        })
        .build()
        .unwrap();
    assistant.chat("ann", "Hi").await.unwrap();
    assert_eq!(model.requests().len(), 2);
    assert_eq!(
        remembered(&assistant, "ann").await,
        [
            ChatMessage::user("between"),
            ChatMessage::ai("yes"),
            ChatMessage::user("Hi"),
            ChatMessage::ai("ok"),
        ]
    );
}

/// Rejects the first commit, and fails all loads after the first one.
#[derive(Default)]
struct Failing {
    loads: AtomicUsize,
}

#[ai_services::async_trait]
impl ChatMemoryStore for Failing {
    async fn get_messages(&self, _: &MemoryId) -> ai_services::Result<Vec<ChatMessage>> {
        match self.loads.fetch_add(1, Ordering::SeqCst) {
            0 => Ok(Vec::new()),
            _ => Err(Error::new(ErrorKind::Store, "the disk is gone")),
        }
    }

    async fn update_messages(&self, _: &MemoryId, _: &[ChatMessage]) -> ai_services::Result<()> {
        Ok(())
    }

    async fn delete_messages(&self, _: &MemoryId) -> ai_services::Result<()> {
        Ok(())
    }

    async fn commit(&self, _: &MemoryId, _: Change) -> ai_services::Result<()> {
        Err(Error::new(ErrorKind::Conflict, "another writer was first"))
    }
}

#[tokio::test]
async fn error_of_a_retried_turn_contains_its_usage() {
    let usage = TokenUsage::new(10, 5);
    let model = ScriptedChatModel::new([ScriptedAnswer::text("ok").with_usage(usage)]);
    let store = Arc::new(Failing::default());
    let assistant = AssistantService::builder()
        .chat_model(model)
        .chat_memory_provider(move |id: &MemoryId| {
            let builder = MessageWindowChatMemory::builder().id(id).max_messages(20);
            builder.store(Arc::clone(&store)).build()
        })
        .build()
        .unwrap();
    let error = assistant.chat("ann", "Hi").await.unwrap_err();
    assert_eq!((error.to_string().as_str(), error.usage()), ("the disk is gone", Some(&usage)));
}

#[tokio::test]
async fn malformed_history_is_repaired_before_it_is_sent() {
    let model = ScriptedChatModel::replies(["ok"]);
    let assistant = assistant(&model);
    let call = AiMessage::builder().tool_calls([ToolCall::new("1", "t", "{}")]).build();
    let memory = assistant.chat_memory("ann").unwrap();
    memory
        .set(vec![
            ChatMessage::ai("orphan"),
            ChatMessage::user("1"),
            ChatMessage::ai("one"),
            ChatMessage::user("2"),
            call.into(),
        ])
        .await
        .unwrap();
    assistant.chat("ann", "3").await.unwrap();
    assert_eq!(
        model.messages_of(0)[1..],
        [ChatMessage::user("1"), ChatMessage::ai("one"), ChatMessage::user("3")]
    );
    assert_eq!(remembered(&assistant, "ann").await.len(), 4);
}

#[tokio::test]
async fn stored_system_message_is_the_default() {
    let model = ScriptedChatModel::from_fn(|_, _| ScriptedAnswer::text("ok"));
    let memory = Arc::new(MessageWindowChatMemory::with_max_messages(10));
    memory.add(ChatMessage::system("Speak French.")).await.unwrap();
    let assistant = AssistantService::builder()
        .chat_model(model.clone())
        .chat_memory_provider(window(20))
        .chat_memory(Arc::clone(&memory))
        .build()
        .unwrap();
    assistant.aside("1").await.unwrap();
    assistant.aside("2").await.unwrap();
    assert_eq!(
        model.messages_of(1),
        [
            ChatMessage::system("Speak French."),
            ChatMessage::user("1"),
            ChatMessage::ai("ok"),
            ChatMessage::user("2"),
        ]
    );
    assert_eq!(memory.messages().await.unwrap().len(), 5);
}

#[tokio::test]
async fn evicted_memory_is_empty() {
    let model = ScriptedChatModel::from_fn(|_, _| ScriptedAnswer::text("ok"));
    let assistant = assistant(&model);
    assistant.chat("ann", "1").await.unwrap();
    assert!(assistant.evict_chat_memory("ann"));
    assert!(!assistant.evict_chat_memory("ann"));
    assert!(remembered(&assistant, "ann").await.is_empty());
}

#[tokio::test]
async fn least_recently_used_memory_is_dropped() {
    let model = ScriptedChatModel::from_fn(|_, _| ScriptedAnswer::text("ok"));
    let assistant = AssistantService::builder()
        .chat_model(model.clone())
        .chat_memory_provider(window(20))
        .max_kept_memories(2)
        .build()
        .unwrap();
    for user in ["ann", "bob", "ann", "cid"] {
        assistant.chat(user, "Hi").await.unwrap();
    }
    assert_eq!(remembered(&assistant, "ann").await.len(), 4);
    assert_eq!(remembered(&assistant, "bob").await.len(), 0);
}

#[tokio::test(start_paused = true)]
async fn second_call_on_an_id_is_rejected_if_configured() {
    let model =
        ScriptedChatModel::from_fn(|_, _| ScriptedAnswer::text("ok").after(Duration::from_secs(1)));
    let assistant = AssistantService::builder()
        .chat_model(model)
        .chat_memory_provider(window(20))
        .concurrent_calls(ConcurrentCalls::Reject)
        .build()
        .unwrap();
    let (first, second, other) = tokio::join!(
        assistant.chat("ann", "1"),
        assistant.chat("ann", "2"),
        assistant.chat("bob", "3"),
    );
    assert!(first.is_ok() && other.is_ok());
    assert_eq!(second.unwrap_err().kind(), ErrorKind::Busy);
}
