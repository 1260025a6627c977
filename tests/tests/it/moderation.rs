//! Moderation: beside the first model call, before any effect.

use ai_services::memory::{MemoryId, MessageWindowChatMemory};
use ai_services::message::ToolCall;
use ai_services::model::{Moderation, ModerationModel};
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use ai_services::{Error, ErrorKind, ai_service, async_trait, tools};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

#[ai_service]
trait Chat {
    #[moderate]
    async fn chat(
        &self,
        #[memory_id] user: u32,
        #[user_message] text: &str,
    ) -> ai_services::Result<String>;
}

/// Flags what contains "bad", after a while.
struct Judge;

#[async_trait]
impl ModerationModel for Judge {
    async fn moderate(&self, text: &str) -> ai_services::Result<Moderation> {
        tokio::time::sleep(Duration::from_millis(50)).await;
        match text {
            text if text.contains("bad") => Ok(Moderation::flagged([("hate", 0.9)])),
            "broken" => Err(Error::new(ErrorKind::Unavailable, "no judge")),
            _ => Ok(Moderation::passed()),
        }
    }
}

#[derive(Default)]
struct Effects(AtomicUsize);

#[tools]
impl Effects {
    /// Has an effect.
    #[tool]
    fn act(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn service(model: ScriptedChatModel, effects: &Arc<Effects>) -> ChatService {
    ChatService::builder()
        .chat_model(model)
        .chat_memory_provider(|id: &MemoryId| {
            MessageWindowChatMemory::builder().id(id).max_messages(10).build()
        })
        .moderation_model(Judge)
        .tools(Arc::clone(effects))
        .build()
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn flagged_message_has_no_effect_and_is_forgotten() {
    let effects = Arc::new(Effects::default());
    let model = ScriptedChatModel::from_fn(|_, request| match request.message_count() {
        1 => ScriptedAnswer::tool_calls([ToolCall::new("1", "act", "{}")]),
        _ => ScriptedAnswer::text("done"),
    });
    let chat = service(model, &effects);
    let error = chat.chat(1, "bad").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Moderation);
    assert_eq!(error.detail::<Moderation>().unwrap().violations[0].0.as_ref(), "hate");
    assert_eq!(effects.0.load(Ordering::SeqCst), 0);
    assert!(chat.chat_memory(&1).unwrap().messages().await.unwrap().is_empty());
    assert_eq!(chat.chat(1, "good").await.unwrap(), "done");
    assert_eq!(effects.0.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn verdict_runs_beside_the_first_model_call() {
    let answer = || ScriptedAnswer::text("hi").after(Duration::from_millis(50));
    let model = ScriptedChatModel::from_fn(move |_, _| answer());
    let chat = service(model, &Arc::default());
    let started = tokio::time::Instant::now();
    chat.chat(1, "good").await.unwrap();
    assert!(started.elapsed() < Duration::from_millis(60), "{:?}", started.elapsed());
}

#[tokio::test(start_paused = true)]
async fn text_is_never_let_through_unjudged() {
    let chat = service(ScriptedChatModel::replies(["hi"]), &Arc::default());
    assert_eq!(chat.chat(1, "broken").await.unwrap_err().kind(), ErrorKind::Unavailable);
}
