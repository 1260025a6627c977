//! The spans within which listeners receive events.

use super::own_process::in_own_process;
use ai_services::event::{Call, Event};
use ai_services::guardrail::{InputGuardrail, InputGuardrailRequest, InputVerdict};
use ai_services::message::ToolCall;
use ai_services::model::{Moderation, ModerationModel};
use ai_services::rag::{ContentRetriever, Query, RetrievedContent};
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use ai_services::{ai_service, async_trait, tool};
use std::sync::{Arc, Mutex};
use tracing::span::{Attributes, Id, Record};
use tracing::{Metadata, Subscriber};

#[ai_service]
trait Agent {
    #[moderate]
    async fn chat(&self, text: &str) -> ai_services::Result<String>;
}

/// Returns a text.
#[tool]
fn hello() -> &'static str {
    "hello"
}

struct Accepting;

#[async_trait]
impl InputGuardrail for Accepting {
    async fn check(&self, _: InputGuardrailRequest<'_>) -> ai_services::Result<InputVerdict> {
        Ok(InputVerdict::Success)
    }

    fn name(&self) -> &str {
        "accepting"
    }
}

#[async_trait]
impl ContentRetriever for Accepting {
    async fn retrieve(&self, _: &Query) -> ai_services::Result<Vec<RetrievedContent>> {
        Ok(vec![RetrievedContent::from("a source")])
    }
}

#[async_trait]
impl ModerationModel for Accepting {
    async fn moderate(&self, _: &str) -> ai_services::Result<Moderation> {
        Ok(Moderation::passed())
    }
}

/// Knows the spans that are entered.
#[derive(Clone, Default)]
struct Spans {
    names: Arc<Mutex<Vec<&'static str>>>,
    entered: Arc<Mutex<Vec<&'static str>>>,
}

impl Subscriber for Spans {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut names = self.names.lock().unwrap();
        names.push(span.metadata().name());
        Id::from_u64(names.len() as u64)
    }

    fn enter(&self, id: &Id) {
        let name = self.names.lock().unwrap()[id.into_u64() as usize - 1];
        self.entered.lock().unwrap().push(name);
    }

    fn exit(&self, _: &Id) {
        self.entered.lock().unwrap().pop();
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, _: &tracing::Event<'_>) {}
}

fn name(event: &Event<'_>) -> String {
    let text = format!("{event:?}");
    text.split([' ', '{']).next().unwrap_or_default().to_owned()
}

#[test]
fn listener_runs_in_the_span_of_the_step() {
    in_own_process(async || {
        let (spans, log) = (Spans::default(), Arc::new(Mutex::new(Vec::new())));
        let _guard = tracing::subscriber::set_default(spans.clone());
        let (entered, seen) = (Arc::clone(&spans.entered), Arc::clone(&log));
        let builder = AgentService::builder()
            .tools(hello::tool())
            .content_retriever(Accepting)
            .input_guardrail(Accepting)
            .moderation_model(Accepting)
            .listener(move |_: &Call<'_>, event: &Event<'_>| {
                let span = entered.lock().unwrap().last().copied().unwrap_or("none");
                seen.lock().unwrap().push((name(event), span));
            });
        let model = ScriptedChatModel::new([
            ScriptedAnswer::tool_calls([ToolCall::new("1", "hello", "{}")]),
            ScriptedAnswer::text("done"),
        ]);
        let agent = builder.chat_model(model).build().unwrap();
        agent.chat("go").await.unwrap();
        let log = log.lock().unwrap();
        for (event, span) in &*log {
            let expected = match event.as_str() {
                "Retrieved" => "retrieve",
                "InputChecked" => "guardrail",
                "Moderated" => "moderation",
                "RequestIssued" | "ResponseReceived" => "chat",
                "ToolStarted" | "ToolFinished" => "execute_tool",
                _ => "invoke_agent",
            };
            assert_eq!(*span, expected, "{event}");
        }
        for event in ["Retrieved", "InputChecked", "Moderated", "ToolFinished", "Completed"] {
            assert!(log.iter().any(|(seen, _)| seen == event), "{event}: {log:?}");
        }
    });
}
