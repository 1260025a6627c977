//! Moderation: beside the first model call, before any effect; of the answer before anybody is told.

use super::journal::{Desk as _, Journal, calling, opinion, remembered, turn, words};
use ai_services::memory::{MemoryId, MessageWindowChatMemory};
use ai_services::message::{Content, ImageContent, ToolCall, UserMessage};
use ai_services::model::{
    ChatModel, ChatRequest, ChatResponse, Moderation, ModerationModel, TokenUsage,
};
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use ai_services::{Error, ErrorKind, UnfinishedTurn, ai_service, async_trait, tools};
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

#[tokio::test(start_paused = true)]
async fn nothing_has_happened_by_the_time_of_the_verdict() {
    let journal = Journal::default();
    let model = journal.model([calling("act"), calling("act")]);
    let desk = journal.desk(&model).content_retriever(journal.shelf(&["first"])).build().unwrap();
    let error = desk.judged("ann", "bad").await.unwrap_err();
    let verdict = error.detail::<Moderation>().unwrap();
    let expected: [(Box<str>, f64); 2] = [("hate".into(), 0.9), ("spite".into(), 0.4)];
    assert_eq!(verdict.violations, expected);
    assert_eq!(journal.entries(), ["loaded", "looked up bad", "asked 0", "judged bad"]);
    assert_eq!(words(desk.stream_judged("ann", "bad")).await, ["error Moderation"]);
    assert!(!journal.entries().iter().any(|entry| entry == "acted" || entry == "stored"));
    assert!(remembered(&desk, "ann").await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn tools_run_and_tokens_are_told_after_the_verdict() {
    let journal = Journal::default();
    let model = journal.model([calling("act"), ScriptedAnswer::text("done")]);
    let desk = journal.desk(&model).content_retriever(journal.shelf(&["first"])).build().unwrap();
    let mut stream = desk.stream_judged("ann", "good");
    assert!(matches!(stream.next().await, Some(Ok(ai_services::StreamEvent::Retrieved(_)))));
    assert_eq!(
        journal.entries(),
        ["loaded", "looked up good", "asked 0", "judged good"],
        "sources are told after the verdict"
    );
    stream.collect().await.unwrap();
    assert_eq!(journal.entries()[4..], ["acted", "asked 1", "stored"]);
}

#[tokio::test(start_paused = true)]
async fn model_call_beside_a_bad_verdict_is_paid_if_it_was_faster() {
    let journal = Journal::default();
    let usage = TokenUsage::new(3, 4);
    let answer =
        |wait| ScriptedAnswer::text("hi").with_usage(usage).after(Duration::from_millis(wait));
    let model = journal.model([answer(10), answer(90)]);
    let desk = journal.desk(&model).build().unwrap();
    let fast = desk.judged("ann", "bad").await.unwrap_err();
    assert_eq!((fast.kind(), fast.usage()), (ErrorKind::Moderation, Some(&usage)));
    let slow = desk.judged("ann", "bad").await.unwrap_err();
    assert_eq!((slow.kind(), slow.usage()), (ErrorKind::Moderation, None));
}

#[tokio::test(start_paused = true)]
async fn flagged_answer_is_neither_told_nor_remembered() {
    let journal = Journal::default();
    let usage = TokenUsage::new(3, 4);
    let answer = || ScriptedAnswer::text("bad answer").in_pieces_of(3).with_usage(usage);
    let model = journal.model([answer(), answer()]);
    let desk = journal.desk(&model).build().unwrap();
    let error = desk.vetted("ann", "bad question").await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the answer violates the content policy: flagged for hate, spite"
    );
    assert_eq!(error.detail::<Moderation>().unwrap().violations.len(), 2);
    let report = error.detail::<UnfinishedTurn>().unwrap();
    assert_eq!(report.answer.as_ref().unwrap().message.text(), Some("bad answer"));
    assert!(!format!("{error:?}").contains("bad"), "what was said is not for logs: {error:?}");
    assert_eq!(error.usage(), Some(&usage));
    assert_eq!(journal.entries(), ["loaded", "asked 0", "judged bad answer"], "not the question");
    assert_eq!(words(desk.stream_vetted("ann", "?")).await, ["usage", "error Moderation"]);
    assert!(remembered(&desk, "ann").await.is_empty());
}

/// Breaks off after it has cost something.
struct Cut(TokenUsage);

#[async_trait]
impl ChatModel for Cut {
    async fn chat(&self, _: &ChatRequest) -> ai_services::Result<ChatResponse> {
        Err(Error::new(ErrorKind::InvalidResponse, "cut").with_usage(self.0))
    }
}

#[tokio::test(start_paused = true)]
async fn failed_model_call_beside_a_bad_verdict_is_paid() {
    let usage = TokenUsage::new(3, 4);
    let journal = Journal::default();
    let desk = journal.desk(&journal.replies([])).chat_model(Cut(usage)).build().unwrap();
    let error = desk.stream_judged("ann", "bad").next().await.unwrap().unwrap_err();
    assert_eq!((error.kind(), error.usage()), (ErrorKind::Moderation, Some(&usage)));
}

#[tokio::test(start_paused = true)]
async fn empty_answer_is_not_judged() {
    let journal = Journal::default();
    let model = journal.replies([""]);
    let desk = journal.desk(&model).build().unwrap();
    assert_eq!(desk.vetted("ann", "?").await.unwrap().value, "");
    assert_eq!(journal.entries(), ["loaded", "asked 0", "stored"]);
}

#[tokio::test(start_paused = true)]
async fn answer_is_judged_as_the_guardrails_left_it() {
    let journal = Journal::default();
    let model = journal.replies(["again", "raw"]);
    let desk =
        journal.desk(&model).output_guardrails(journal.output("critic", opinion)).build().unwrap();
    assert_eq!(desk.vetted("ann", "?").await.unwrap().value, "cooked");
    let judged = journal.entries();
    let judged = judged.iter().filter(|entry| entry.starts_with("judged"));
    assert_eq!(judged.collect::<Vec<_>>(), ["judged cooked"], "a rejected answer is not judged");
    assert_eq!(remembered(&desk, "ann").await, turn("?", "cooked"));
}

#[ai_service]
trait Viewer {
    #[moderate]
    async fn look(&self, #[user_message] parts: &[Content]) -> ai_services::Result<String>;
}

/// Flags images.
struct Prude;

#[async_trait]
impl ModerationModel for Prude {
    async fn moderate(&self, _: &str) -> ai_services::Result<Moderation> {
        Ok(Moderation::passed())
    }

    async fn moderate_message(&self, message: &UserMessage) -> ai_services::Result<Moderation> {
        let images = message.contents().iter().filter(|part| matches!(part, Content::Image(_)));
        Ok(Moderation::flagged(images.map(|_| ("nudity", 0.5))))
    }
}

#[tokio::test]
async fn images_are_judged_with_the_text() {
    let viewer = ViewerService::builder()
        .chat_model(ScriptedChatModel::replies(["a", "b"]))
        .moderation_model(Prude)
        .build()
        .unwrap();
    viewer.look(&["hi".into()]).await.unwrap();
    let image = Content::from(ImageContent::url("https://example.org/cat.png"));
    let error = viewer.look(&["hi".into(), image]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Moderation);
}
