//! Streams: the same turn as in a call, delivered in pieces.

use ai_services::memory::{ChatMemory, MemoryId, MessageWindowChatMemory};
use ai_services::message::{ChatMessage, ToolCall};
use ai_services::model::{ChatModel, ChatRequest, ChatResponse, Moderation, ModerationModel};
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use ai_services::{
    AnswerStream, Error, ErrorKind, StreamEvent, UnfinishedTurn, ai_service, async_trait, model,
    tools,
};
use futures_util::stream::{self, BoxStream, StreamExt};
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

#[ai_service]
trait Chat: Send + Sync {
    fn chat(&self, #[memory_id] room: &str, #[user_message] text: &str) -> AnswerStream;
}

#[ai_service]
trait Guarded {
    #[moderate]
    fn chat(&self, text: &str) -> AnswerStream;
}

#[derive(Default)]
struct Desk(AtomicUsize);

#[tools]
impl Desk {
    /// Adds.
    #[tool]
    async fn add(&self, a: i64, b: i64) -> i64 {
        self.0.fetch_add(1, Ordering::SeqCst);
        tokio::task::yield_now().await;
        a + b
    }
}

fn service(model: impl ChatModel + 'static, desk: &Arc<Desk>) -> ChatService {
    ChatService::builder()
        .chat_model(model)
        .chat_memory_provider(|id: &MemoryId| {
            MessageWindowChatMemory::builder().id(id).max_messages(100).build()
        })
        .tools(Arc::clone(desk))
        .build()
        .unwrap()
}

async fn remembered(chat: &ChatService) -> Vec<ChatMessage> {
    chat.chat_memory("room").unwrap().messages().await.unwrap()
}

/// Returns one word per event.
fn word(event: &StreamEvent) -> String {
    match event {
        StreamEvent::Text(text) => format!("text {text}"),
        StreamEvent::Thinking(text) => format!("thinking {text}"),
        StreamEvent::ToolCall(delta) => format!("call {}", delta.arguments),
        StreamEvent::ToolStarted(call) => format!("started {}", call.name()),
        StreamEvent::ToolFinished(execution) => {
            format!("finished {}", execution.result().text().unwrap())
        }
        StreamEvent::Usage(usage) => format!("usage {}", usage.total().unwrap_or_default()),
        StreamEvent::Completed(response) => format!("completed {}", response.value),
        other => format!("{other:?}"),
    }
}

async fn words(mut stream: AnswerStream) -> Vec<String> {
    let mut words = Vec::new();
    while let Some(event) = stream.next().await {
        words.push(event.map_or_else(|error| format!("error {error}"), |event| word(&event)));
    }
    assert!(stream.next().await.is_none(), "nothing follows the last item");
    words
}

fn calculation() -> ScriptedChatModel {
    let call = ToolCall::new("1", "add", r#"{"a":1,"b":2}"#);
    ScriptedChatModel::new([
        ScriptedAnswer::tool_calls([call]).with_usage(model::TokenUsage::new(3, 4)),
        ScriptedAnswer::pieces(["It is ", "3."]).with_usage(model::TokenUsage::new(5, 6)),
    ])
}

#[tokio::test]
async fn stream_delivers_all_events_in_order_and_stores_the_turn() {
    let desk = Arc::new(Desk::default());
    let chat = service(calculation(), &desk);
    let told = words(chat.chat("room", "1+2?")).await;
    let expected = [
        r#"call {"a":1,"b":2}"#,
        "usage 7",
        "started add",
        "finished 3",
        "text It is ",
        "text 3.",
        "usage 18",
        "completed It is 3.",
    ];
    assert_eq!(told, expected);
    let texts: Vec<_> = remembered(&chat).await;
    assert_eq!(texts.len(), 4);
    assert_eq!(texts[3], ChatMessage::ai("It is 3."));
}

#[tokio::test]
async fn nothing_happens_before_the_first_poll() {
    let model = ScriptedChatModel::replies(["hi"]);
    let chat = service(model.clone(), &Arc::default());
    drop(chat.chat("room", "hello"));
    assert!(model.requests().is_empty());
    assert!(remembered(&chat).await.is_empty());
}

#[tokio::test]
async fn collected_stream_equals_the_answer_of_a_call() {
    let desk = Arc::new(Desk::default());
    let response = service(calculation(), &desk).chat("room", "1+2?").collect().await.unwrap();
    assert_eq!(response.value, "It is 3.");
    assert_eq!((response.tool_executions.len(), response.token_usage.total()), (1, Some(18)));
}

#[tokio::test]
async fn text_is_only_text() {
    let text = service(calculation(), &Arc::default()).chat("room", "1+2?").text();
    let pieces: Vec<String> = text.map(Result::unwrap).collect().await;
    assert_eq!(pieces, ["It is ", "3."]);
}

#[tokio::test]
async fn failed_stream_ends_with_its_error_and_stores_nothing() {
    let broken = ScriptedAnswer::pieces(["It "]).then_error(ErrorKind::Connection, "cut");
    let chat = service(ScriptedChatModel::new([broken]), &Arc::default());
    assert_eq!(words(chat.chat("room", "hi")).await, ["text It ", "error cut"]);
    assert!(remembered(&chat).await.is_empty());
}

#[tokio::test]
async fn error_of_a_broken_stream_has_the_text_so_far() {
    let broken = ScriptedAnswer::pieces(["It ", "is"]).then_error(ErrorKind::Connection, "cut");
    let chat = service(ScriptedChatModel::new([broken]), &Arc::default());
    let error = chat.chat("room", "hi").collect().await.unwrap_err();
    assert_eq!(error.detail::<model::PartialAnswer>().unwrap().text, "It is");
}

#[tokio::test]
async fn invalid_prompt_is_the_first_item() {
    let chat = service(ScriptedChatModel::replies(["hi"]), &Arc::default());
    let told = words(chat.chat("", "hi")).await;
    assert_eq!(told.len(), 1);
    assert!(told[0].starts_with("error the memory id"), "{told:?}");
}

/// A model that only streams, with events from a function.
struct Streaming<F>(F);

#[async_trait]
impl<F> ChatModel for Streaming<F>
where
    F: Fn() -> BoxStream<'static, model::ModelStreamEvent> + Send + Sync,
{
    async fn chat(&self, _: &ChatRequest) -> ai_services::Result<ChatResponse> {
        Err(Error::new(ErrorKind::Unsupported, "streams only"))
    }

    fn stream<'a>(
        &'a self,
        _: &'a ChatRequest,
    ) -> BoxStream<'a, ai_services::Result<model::ModelStreamEvent>> {
        (self.0)().map(Ok).boxed()
    }
}

fn a() -> model::ModelStreamEvent {
    model::ModelStreamEvent::Text("a".to_owned())
}

/// A model whose stream stops without a last event.
fn endless() -> impl ChatModel + 'static {
    Streaming(|| stream::iter([a()]).boxed())
}

#[tokio::test]
async fn end_without_an_answer_is_an_error() {
    let chat = service(endless(), &Arc::default());
    let told = words(chat.chat("room", "hi")).await;
    assert_eq!(told[1..], ["error the model's stream ended without an answer"]);
    assert!(remembered(&chat).await.is_empty());
}

/// Calls a tool, then answers, and yields at every step.
fn hesitant() -> ScriptedChatModel {
    ScriptedChatModel::from_fn(|_, request| match request.messages().last() {
        Some(ChatMessage::User(_)) => {
            ScriptedAnswer::tool_calls([ToolCall::new("1", "add", r#"{"a":1,"b":2}"#)])
        }
        _ => ScriptedAnswer::pieces(["do", "ne"]).with_pauses(Duration::ZERO),
    })
}

#[tokio::test(start_paused = true)]
async fn stream_dropped_at_any_poll_does_not_change_memory() {
    let chat = service(hesitant(), &Arc::default());
    chat.chat("room", "first").collect().await.unwrap();
    let before = remembered(&chat).await;
    assert_eq!(before.len(), 4);
    let mut polls = 0;
    loop {
        let completed = {
            let mut stream = chat.chat("room", "again");
            let mut context = Context::from_waker(Waker::noop());
            (0..polls).any(|_| {
                let next = pin!(stream.next()).poll(&mut context);
                matches!(next, Poll::Ready(Some(Ok(StreamEvent::Completed(_)))))
            })
        };
        if completed {
            break;
        }
        assert_eq!(remembered(&chat).await, before, "after {polls} polls");
        polls += 1;
        tokio::time::advance(Duration::from_millis(1)).await;
        assert!(polls < 1_000, "the stream never ends");
    }
    assert!(polls > 5, "the stream was over after {polls} polls");
}

#[tokio::test(start_paused = true)]
async fn unread_stream_causes_back_pressure() {
    let taken = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&taken);
    let model = Streaming(move || {
        let count = Arc::clone(&count);
        let counted = move || {
            count.fetch_add(1, Ordering::SeqCst);
            a()
        };
        stream::repeat_with(counted).boxed()
    });
    let chat = service(model, &Arc::default());
    let mut stream = chat.chat("room", "hi");
    for _ in 0..1_000 {
        assert!(stream.next().await.unwrap().is_ok());
        tokio::time::advance(Duration::from_millis(1)).await;
    }
    let taken = taken.load(Ordering::SeqCst);
    assert!((1_000..1_200).contains(&taken), "{taken} pieces were taken for 1000");
}

#[tokio::test(start_paused = true)]
async fn streams_on_one_id_run_one_after_the_other() {
    let model = ScriptedChatModel::from_fn(|number, _| {
        ScriptedAnswer::pieces([format!("{number}"), "!".to_owned()])
            .with_pauses(Duration::from_millis(10))
    });
    let chat = service(model, &Arc::default());
    let streams = (0..5).map(|n| chat.chat("room", &format!("{n}")).collect());
    let answers = futures_util::future::join_all(streams).await;
    let answers: Vec<_> = answers.into_iter().map(|answer| answer.unwrap().value).collect();
    assert_eq!(answers, ["0!", "1!", "2!", "3!", "4!"]);
    assert_eq!(remembered(&chat).await.len(), 10);
}

#[tokio::test]
async fn concurrent_change_is_a_conflict_with_the_answer() {
    let store = Arc::new(ai_services::memory::InMemoryChatMemoryStore::new());
    let memory = |id: &MemoryId| {
        let builder = MessageWindowChatMemory::builder().id(id).max_messages(100);
        builder.store(Arc::clone(&store)).build()
    };
    let model = ScriptedChatModel::new([ScriptedAnswer::pieces(["a", "b"])]);
    let provider = {
        let store = Arc::clone(&store);
        move |id: &MemoryId| {
            let builder = MessageWindowChatMemory::builder().id(id).max_messages(100);
            builder.store(Arc::clone(&store)).build()
        }
    };
    let chat =
        ChatService::builder().chat_model(model).chat_memory_provider(provider).build().unwrap();
    let mut stream = chat.chat("room", "hi");
    assert_eq!(word(&stream.next().await.unwrap().unwrap()), "text a");
    let other = memory(&MemoryId::from("room")).unwrap();
    other.add(ChatMessage::user("in between")).await.unwrap();
    let error = stream.collect().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    let report = error.detail::<UnfinishedTurn>().unwrap();
    assert_eq!(report.answer.as_ref().unwrap().message.text(), Some("ab"));
}

/// Flags texts that contain "bad", after a signal.
struct Judge(Arc<tokio::sync::Semaphore>);

#[async_trait]
impl ModerationModel for Judge {
    async fn moderate(&self, text: &str) -> ai_services::Result<Moderation> {
        let _permit = self.0.acquire().await.unwrap();
        match text.contains("bad") {
            true => Ok(Moderation::flagged([("hate", 0.9)])),
            false => Ok(Moderation::passed()),
        }
    }
}

fn guarded(gate: &Arc<tokio::sync::Semaphore>) -> (GuardedService, ScriptedChatModel) {
    let model = ScriptedChatModel::replies(["fine"]);
    let service = GuardedService::builder()
        .chat_model(model.clone())
        .moderation_model(Judge(Arc::clone(gate)))
        .build()
        .unwrap();
    (service, model)
}

#[tokio::test]
async fn nothing_is_delivered_before_the_verdict() {
    let gate = Arc::new(tokio::sync::Semaphore::new(0));
    let (service, model) = guarded(&gate);
    let mut stream = service.chat("good");
    let mut context = Context::from_waker(Waker::noop());
    for _ in 0..10 {
        assert!(pin!(stream.next()).poll(&mut context).is_pending());
    }
    assert_eq!(model.requests().len(), 1, "the model call is concurrent with the moderation");
    gate.add_permits(1);
    assert_eq!(words(stream).await, ["text fine", "usage 0", "completed fine"]);
}

#[tokio::test]
async fn stream_of_a_flagged_message_has_only_the_error() {
    let (service, _) = guarded(&Arc::new(tokio::sync::Semaphore::new(1)));
    let told = words(service.chat("bad")).await;
    assert_eq!(told.len(), 1);
    assert!(told[0].starts_with("error the user message violates"), "{told:?}");
}

#[tokio::test]
async fn listeners_receive_the_same_events_for_streams_and_calls() {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let hears = Arc::clone(&heard);
    let chat = ChatService::builder()
        .chat_model(ScriptedChatModel::replies(["a", "b"]))
        .chat_memory_provider(|id: &MemoryId| {
            MessageWindowChatMemory::builder().id(id).max_messages(100).build()
        })
        .listener(move |_: &ai_services::event::Call<'_>, event: &ai_services::event::Event<'_>| {
            let name = format!("{event:?}");
            hears.lock().unwrap().push(name.split([' ', '{']).next().unwrap().to_owned());
        })
        .build()
        .unwrap();
    chat.chat("room", "1").collect().await.unwrap();
    let mut dropped = chat.chat("room", "2");
    assert!(dropped.next().await.is_some());
    drop(dropped);
    let expected = [
        "Started",
        "PromptsRendered",
        "MemoryLoaded",
        "RequestIssued",
        "ResponseReceived",
        "TurnStored",
        "Completed",
    ];
    let heard = heard.lock().unwrap();
    assert_eq!(heard[..7], expected);
    assert_eq!(heard.last().unwrap(), "Cancelled");
}

#[test]
fn streaming_trait_is_usable_as_an_object() {
    fn is_shared<T: Send + Sync + ?Sized>(_: &T) {}
    let chat: Arc<dyn Chat> = Arc::new(service(endless(), &Arc::default()));
    is_shared(&*chat);
}
