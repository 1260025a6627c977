//! Deadlines, cancellation and progress of running tools.

use crate::desk::{Agent, AgentService, call, calling, results};
use ai_services::event::{Call, Event};
use ai_services::guardrail::{OutputGuardrail, OutputGuardrailRequest, OutputVerdict};
use ai_services::model::ToolSpecification;
use ai_services::tool::{CancellationToken, Tool, ToolInput, ToolOutput, ToolProgress};
use ai_services::{AnswerStream, StreamEvent, ai_service, async_trait, tool, tools};
use futures_util::FutureExt;
use serde_json::json;
use std::future::pending;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::Instant;

#[ai_service]
trait Chat {
    fn chat(&self, text: &str) -> AnswerStream;
}

fn left(input: &ToolInput) -> Option<u128> {
    input.deadline().map(|deadline| (deadline - Instant::now()).as_millis())
}

/// Returns the milliseconds that are left.
#[tool(timeout = "2s")]
async fn limited(#[context] input: &ToolInput) -> Option<u128> {
    tokio::time::sleep(Duration::from_millis(500)).await;
    left(input)
}

/// Returns the milliseconds that are left.
#[tool]
async fn unlimited(#[context] input: &ToolInput) -> Option<u128> {
    left(input)
}

/// Is not `async`.
#[tool(timeout = "2s")]
fn blocking(#[context] input: &ToolInput) -> Option<u128> {
    left(input)
}

#[tokio::test(start_paused = true)]
async fn deadline_is_the_end_of_the_time_limit() {
    // Also before the future of the tool is polled.
    let early =
        Tool::from_fn(ToolSpecification::new("early", "Reads early."), |call: ToolInput| {
            let left = left(&call);
            async move { Ok(ToolOutput::text(format!("{left:?}"))) }
        });
    let names = ["limited", "unlimited", "blocking", "early"];
    let model = calling(names.map(|name| call(name, name, json!({}))));
    let agent = AgentService::builder()
        .chat_model(model.clone())
        .tools([limited::tool(), unlimited::tool(), blocking::tool(), early].to_vec())
        .tool_timeout(Duration::from_secs(5));
    agent.build().unwrap().chat("go").await.unwrap();
    let results = results(&model.messages_of(1));
    let texts: Vec<&str> = results.iter().map(|(text, _)| text.as_str()).collect();
    assert_eq!(texts, ["1500", "5000", "null", "Some(5000)"]);
}

/// Keeps the tokens of its calls.
#[derive(Default)]
struct Desk(Mutex<Vec<CancellationToken>>);

#[tools]
impl Desk {
    /// Never ends.
    #[tool(timeout = "2s")]
    async fn hang(&self, #[context] input: &ToolInput) {
        self.0.lock().unwrap().push(input.cancellation());
        pending::<()>().await;
    }

    /// Ends.
    #[tool]
    async fn end(&self, #[context] input: &ToolInput) {
        self.0.lock().unwrap().push(input.cancellation());
    }
}

impl Desk {
    fn token(&self) -> CancellationToken {
        let tokens = self.0.lock().unwrap();
        let [token] = &tokens[..] else { panic!("{tokens:?}") };
        token.clone()
    }
}

fn agent(desk: &Arc<Desk>, tool: &str) -> AgentService {
    let model = calling([call("1", tool, json!({}))]);
    AgentService::builder().chat_model(model).tools(Arc::clone(desk)).build().unwrap()
}

#[tokio::test(start_paused = true)]
async fn token_is_cancelled_at_the_time_limit() {
    let desk = Arc::new(Desk::default());
    let agent = agent(&desk, "hang");
    let waiting = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let token = desk.token();
        assert!(!token.is_cancelled());
        token.cancelled().await;
        Instant::now()
    };
    let started = Instant::now();
    let (answer, cancelled) = tokio::join!(agent.chat("go"), waiting);
    answer.unwrap();
    assert_eq!(cancelled - started, Duration::from_secs(2));
}

#[tokio::test]
async fn token_is_cancelled_with_the_call_or_its_stream() {
    let desk = Arc::new(Desk::default());
    {
        let agent = agent(&desk, "hang");
        assert!(pin!(agent.chat("go")).now_or_never().is_none());
        assert!(desk.token().is_cancelled());
    }
    let desk = Arc::new(Desk::default());
    let model = calling([call("1", "hang", json!({}))]);
    let chat = ChatService::builder().chat_model(model).tools(Arc::clone(&desk)).build().unwrap();
    let mut stream = chat.chat("go");
    while stream.next().now_or_never().is_some() {}
    assert!(!desk.token().is_cancelled());
    drop(stream);
    assert!(desk.token().is_cancelled());
}

#[tokio::test]
async fn token_of_a_tool_that_ended_is_not_cancelled() {
    let desk = Arc::new(Desk::default());
    agent(&desk, "end").chat("go").await.unwrap();
    assert!(!desk.token().is_cancelled());
}

/// Reports its progress twice between two polls, and last from another thread.
#[tool]
async fn read(#[context] input: &ToolInput) -> String {
    input.report(ToolProgress::new(1.0).with_total(3.0));
    input.report(ToolProgress::new(2.0).with_total(3.0).with_message("page 2"));
    tokio::task::yield_now().await;
    let input = input.clone();
    let last = ToolProgress::new(3.0).with_total(3.0);
    tokio::task::spawn_blocking(move || input.report(last)).await.unwrap();
    "the end".to_owned()
}

fn shown(progress: &ToolProgress) -> String {
    let ToolProgress { completed, total, message, .. } = progress;
    format!("{completed} {} {}", total.unwrap(), message.as_deref().unwrap_or("-"))
}

#[tokio::test]
async fn listeners_receive_the_progress_between_start_and_end() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    let agent = AgentService::builder()
        .chat_model(calling([call("1", "read", json!({}))]))
        .tools(read::tool())
        .listener(move |_: &Call<'_>, event: &Event<'_>| {
            log.lock().unwrap().push(match event {
                Event::ToolStarted { call } => format!("started {}", call.name()),
                Event::ToolProgressed { call, progress } => {
                    format!("{} {}", call.name(), shown(progress))
                }
                Event::ToolFinished { .. } => "finished".to_owned(),
                _ => return,
            });
        });
    agent.build().unwrap().chat("go").await.unwrap();
    let expected = ["started read", "read 2 3 page 2", "read 3 3 -", "finished"];
    assert_eq!(*seen.lock().unwrap(), expected);
}

/// Accepts every answer, as a whole.
struct Accept;

#[async_trait]
impl OutputGuardrail for Accept {
    async fn check(&self, _: OutputGuardrailRequest<'_>) -> ai_services::Result<OutputVerdict> {
        Ok(OutputVerdict::Success)
    }

    fn name(&self) -> &str {
        "accept"
    }
}

#[tokio::test]
async fn progress_is_streamed_also_while_the_answer_is_held_back() {
    let model = || calling([call("1", "read", json!({}))]);
    let plain = ChatService::builder().chat_model(model()).tools(read::tool());
    let checked = ChatService::builder().chat_model(model()).tools(read::tool());
    for chat in [plain.build().unwrap(), checked.output_guardrail(Accept).build().unwrap()] {
        let mut stream = chat.chat("go");
        let mut seen = Vec::new();
        while let Some(event) = stream.next().await {
            seen.push(match event.unwrap() {
                StreamEvent::ToolStarted(call) => format!("started {}", call.name()),
                StreamEvent::ToolProgressed { call, progress } => {
                    format!("{} {}", call.name(), shown(&progress))
                }
                StreamEvent::ToolFinished(_) => "finished".to_owned(),
                StreamEvent::Text(text) => text,
                _ => continue,
            });
        }
        let expected = ["started read", "read 2 3 page 2", "read 3 3 -", "finished", "done"];
        assert_eq!(seen, expected);
    }
}

#[tokio::test]
async fn slow_reader_of_a_stream_gets_the_last_progress() {
    let (input, gate) = (Arc::new(Mutex::new(None)), Arc::new(Semaphore::new(0)));
    let (kept, open) = (Arc::clone(&input), Arc::clone(&gate));
    let wait = Tool::from_fn(ToolSpecification::new("wait", "Waits."), move |call: ToolInput| {
        *kept.lock().unwrap() = Some(call);
        let open = Arc::clone(&open);
        async move {
            open.acquire().await.unwrap().forget();
            Ok(ToolOutput::text("ok"))
        }
    });
    let model = calling([call("1", "wait", json!({}))]);
    let chat = ChatService::builder().chat_model(model).tools(wait).build().unwrap();
    let mut stream = chat.chat("go");
    while stream.next().now_or_never().is_some() {}
    let input = input.lock().unwrap().clone().unwrap();
    for step in 0..100 {
        input.report(ToolProgress::new(step.into()));
    }
    let Some(Ok(StreamEvent::ToolProgressed { progress, .. })) = stream.next().await else {
        panic!("no progress")
    };
    assert_eq!(progress, ToolProgress::new(99.0));
    gate.add_permits(1);
    assert!(matches!(stream.next().await, Some(Ok(StreamEvent::ToolFinished(_)))));
    input.report(ToolProgress::new(100.0));
    assert_eq!(stream.collect().await.unwrap().value, "done");
}
