//! Moderation: concurrent with the first model call, before any effect; of answers before delivery.

use super::journal::{Desk as _, Journal, calling, opinion, remembered, turn, words};
use ai_services::event::{Call, Event};
use ai_services::guardrail::GuardrailStage;
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

/// Flags texts that contain "bad", after a delay.
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
async fn flagged_message_has_no_effect_and_is_not_stored() {
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
async fn moderation_is_concurrent_with_the_first_model_call() {
    let answer = || ScriptedAnswer::text("hi").after(Duration::from_millis(50));
    let model = ScriptedChatModel::from_fn(move |_, _| answer());
    let chat = service(model, &Arc::default());
    let started = tokio::time::Instant::now();
    chat.chat(1, "good").await.unwrap();
    assert!(started.elapsed() < Duration::from_millis(60), "{:?}", started.elapsed());
}

#[tokio::test(start_paused = true)]
async fn failed_moderation_fails_the_call() {
    let chat = service(ScriptedChatModel::replies(["hi"]), &Arc::default());
    assert_eq!(chat.chat(1, "broken").await.unwrap_err().kind(), ErrorKind::Unavailable);
}

#[tokio::test(start_paused = true)]
async fn no_effect_precedes_the_verdict() {
    let journal = Journal::default();
    let model = journal.model([calling("act"), calling("act")]);
    let desk = journal.desk(&model).content_retriever(journal.shelf(&["first"])).build().unwrap();
    let error = desk.judged("ann", "bad").await.unwrap_err();
    let verdict = error.detail::<Moderation>().unwrap();
    let expected: [(Box<str>, f64); 2] = [("hate".into(), 0.9), ("spite".into(), 0.4)];
    assert_eq!(verdict.violations, expected);
    assert_eq!(journal.entries(), ["loaded", "looked up bad", "model called with 0", "judged bad"]);
    assert_eq!(words(desk.stream_judged("ann", "bad")).await, ["error Moderation"]);
    assert!(!journal.entries().iter().any(|entry| entry == "acted" || entry == "stored"));
    assert!(remembered(&desk, "ann").await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn tools_run_and_tokens_are_delivered_after_the_verdict() {
    let journal = Journal::default();
    let model = journal.model([calling("act"), ScriptedAnswer::text("done")]);
    let desk = journal.desk(&model).content_retriever(journal.shelf(&["first"])).build().unwrap();
    let mut stream = desk.stream_judged("ann", "good");
    assert!(matches!(stream.next().await, Some(Ok(ai_services::StreamEvent::Retrieved(_)))));
    assert_eq!(
        journal.entries(),
        ["loaded", "looked up good", "model called with 0", "judged good"],
        "sources are delivered after the verdict"
    );
    stream.collect().await.unwrap();
    assert_eq!(journal.entries()[4..], ["acted", "model called with 1", "stored"]);
}

#[tokio::test(start_paused = true)]
async fn usage_of_a_faster_model_call_counts_after_a_flagging_verdict() {
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
async fn flagged_answer_is_neither_delivered_nor_stored() {
    let journal = Journal::default();
    let usage = TokenUsage::new(3, 4);
    let answer = || ScriptedAnswer::text("bad answer").chunked(3).with_usage(usage);
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
    assert_eq!(
        journal.entries(),
        ["loaded", "model called with 0", "judged bad answer"],
        "not the question"
    );
    assert_eq!(words(desk.stream_vetted("ann", "?")).await, ["usage", "error Moderation"]);
    assert!(remembered(&desk, "ann").await.is_empty());
}

/// Fails after it has used tokens.
struct Cut(TokenUsage);

#[async_trait]
impl ChatModel for Cut {
    async fn chat(&self, _: &ChatRequest) -> ai_services::Result<ChatResponse> {
        Err(Error::new(ErrorKind::InvalidResponse, "cut").with_usage(self.0))
    }
}

#[tokio::test(start_paused = true)]
async fn usage_of_a_failed_model_call_counts_after_a_flagging_verdict() {
    let usage = TokenUsage::new(3, 4);
    let journal = Journal::default();
    let desk = journal.desk(&journal.replies([])).chat_model(Cut(usage)).build().unwrap();
    let error = desk.stream_judged("ann", "bad").next().await.unwrap().unwrap_err();
    assert_eq!((error.kind(), error.usage()), (ErrorKind::Moderation, Some(&usage)));
}

#[tokio::test(start_paused = true)]
async fn empty_answer_is_not_moderated() {
    let journal = Journal::default();
    let model = journal.replies([""]);
    let desk = journal.desk(&model).build().unwrap();
    assert_eq!(desk.vetted("ann", "?").await.unwrap().value, "");
    assert_eq!(journal.entries(), ["loaded", "model called with 0", "stored"]);
}

#[tokio::test(start_paused = true)]
async fn answer_is_moderated_after_the_guardrails() {
    let journal = Journal::default();
    let model = journal.replies(["again", "raw"]);
    let desk =
        journal.desk(&model).output_guardrail(journal.output("critic", opinion)).build().unwrap();
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
async fn images_are_moderated_with_the_text() {
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

#[tokio::test(start_paused = true)]
async fn message_and_answer_are_moderated_with_and_without_streaming() {
    let journal = Journal::default();
    let model = journal.model(
        ["good", "bad answer", "unheard", "good", "bad answer", "unheard"]
            .map(|text| ScriptedAnswer::text(text).chunked(2).after(Duration::from_secs(1))),
    );
    let desk = journal.desk(&model).build().unwrap();
    assert_eq!(desk.guarded("ann", "hi").await.unwrap().value, "good");
    let error = desk.guarded("ann", "and?").await.unwrap_err();
    assert!(error.to_string().starts_with("the answer violates"), "{error}");
    let error = desk.guarded("ann", "bad").await.unwrap_err();
    assert!(error.to_string().starts_with("the user message violates"), "{error}");
    let whole = [
        "loaded",
        "model called with 0",
        "judged hi",
        "judged good",
        "stored",
        "loaded",
        "model called with 1",
        "judged and?",
        "judged bad answer",
        "loaded",
        "model called with 2",
        "judged bad",
    ];
    assert_eq!(journal.entries(), whole);
    assert_eq!(remembered(&desk, "ann").await, turn("hi", "good"));

    let before = journal.entries().len();
    let told = words(desk.stream_guarded("bob", "hi")).await;
    assert_eq!(told, ["usage", "text good", "completed good"]);
    assert_eq!(words(desk.stream_guarded("bob", "and?")).await, ["usage", "error Moderation"]);
    assert_eq!(words(desk.stream_guarded("bob", "bad")).await, ["error Moderation"]);
    let streamed = journal.entries().split_off(before);
    let as_whole = whole.map(|entry| match entry.strip_prefix("model called with ") {
        Some(number) => format!("model called with {}", number.parse::<u8>().unwrap() + 3),
        None => entry.to_owned(),
    });
    assert_eq!(streamed, as_whole);
    assert_eq!(remembered(&desk, "bob").await, turn("hi", "good"));
}

#[tokio::test(start_paused = true)]
async fn stream_of_a_flagged_message_has_the_error_and_runs_no_tool() {
    let journal = Journal::default();
    let model = journal.model([calling("act"), calling("finish")]);
    let desk = journal.desk(&model).build().unwrap();
    for _ in 0..2 {
        let error = desk.stream_judged("ann", "bad").collect().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Moderation);
        let categories = &error.detail::<Moderation>().unwrap().violations;
        let expected: [(Box<str>, f64); 2] = [("hate".into(), 0.9), ("spite".into(), 0.4)];
        assert_eq!(*categories, expected);
    }
    assert_eq!(
        journal.entries(),
        [
            "loaded",
            "model called with 0",
            "judged bad",
            "loaded",
            "model called with 1",
            "judged bad"
        ]
    );
    assert!(remembered(&desk, "ann").await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn missing_moderation_model_gives_no_verdict() {
    let journal = Journal::default();
    let model = journal.model([
        calling("act"),
        calling("act"),
        ScriptedAnswer::text("broken"),
        ScriptedAnswer::text("broken"),
    ]);
    let desk = journal.desk(&model).build().unwrap();
    let failure = desk.judged("ann", "broken").await.unwrap_err();
    assert_eq!(failure.kind(), ErrorKind::Unavailable);
    assert_eq!(words(desk.stream_judged("ann", "broken")).await, ["error Unavailable"]);
    assert_eq!(desk.vetted("ann", "?").await.unwrap_err().kind(), ErrorKind::Unavailable);
    assert_eq!(words(desk.stream_vetted("ann", "?")).await, ["usage", "error Unavailable"]);
    assert!(!journal.entries().iter().any(|entry| entry == "acted" || entry == "stored"));
    assert!(remembered(&desk, "ann").await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn stream_dropped_before_the_verdict_does_not_change_memory() {
    let journal = Journal::default();
    let model = journal.model([calling("act")]);
    let desk = journal.desk(&model).build().unwrap();
    let mut stream = desk.stream_judged("ann", "good");
    let soon = tokio::time::timeout(Duration::from_millis(49), stream.next());
    assert!(soon.await.is_err(), "nothing is delivered before the verdict");
    drop(stream);
    assert_eq!(journal.entries(), ["loaded", "model called with 0"]);
    assert!(remembered(&desk, "ann").await.is_empty());
}

#[ai_service]
#[moderate]
trait Added {
    #[moderate(answer)]
    async fn chat(&self, text: &str) -> ai_services::Result<String>;
}

#[tokio::test(start_paused = true)]
async fn moderation_of_trait_and_method_is_combined() {
    let added = AddedService::builder()
        .chat_model(ScriptedChatModel::replies(["good", "bad", "good"]))
        .moderation_model(Judge)
        .build()
        .unwrap();
    assert_eq!(added.chat("hi").await.unwrap(), "good");
    assert_eq!(added.chat("hi").await.unwrap_err().kind(), ErrorKind::Moderation);
    assert_eq!(added.chat("bad").await.unwrap_err().kind(), ErrorKind::Moderation);
}

#[tokio::test(start_paused = true)]
async fn listeners_receive_every_verdict() {
    let journal = Journal::default();
    let notes = journal.clone();
    let model = journal.model([calling("act"), ScriptedAnswer::text("bad answer")]);
    let desk = journal
        .desk(&model)
        .listener(move |_: &Call<'_>, event: &Event<'_>| {
            if let Event::Moderated { model, stage, verdict, .. } = event {
                let what = match stage {
                    GuardrailStage::Input => "message",
                    GuardrailStage::Output => "answer",
                };
                notes.note(format!("verdict of {model}, the {what}: {verdict}"));
            }
        })
        .build()
        .unwrap();
    desk.guarded("ann", "hi").await.unwrap_err();
    assert_eq!(
        journal.entries(),
        [
            "loaded",
            "model called with 0",
            "judged hi",
            "verdict of judge, the message: nothing to object to",
            "acted",
            "model called with 1",
            "judged bad answer",
            "verdict of judge, the answer: flagged for hate, spite",
        ]
    );
}
