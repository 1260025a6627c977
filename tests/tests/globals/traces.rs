//! Spans of a call: names of OpenTelemetry's conventions, no texts.

use super::own_process::in_own_process;
use ai_services::guardrail::{
    InputGuardrail, InputGuardrailRequest, InputVerdict, OutputGuardrail, OutputGuardrailRequest,
    OutputVerdict,
};
use ai_services::message::{AiMessage, ToolCall};
use ai_services::model::{ChatResponse, Moderation, ModerationModel, TokenUsage};
use ai_services::rag::{ContentRetriever, Query, RetrievedContent};
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use ai_services::{Error, ErrorKind, ai_service, async_trait, tool};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

#[ai_service]
#[system_message("SECRET system")]
trait Agent {
    #[moderate(message, answer)]
    async fn chat(&self, text: &str) -> ai_services::Result<String>;
}

/// Returns the text.
#[tool]
fn repeat(text: String) -> String {
    text
}

/// A retriever, guardrail and moderation model that accepts everything.
struct Accepting;

#[async_trait]
impl ContentRetriever for Accepting {
    async fn retrieve(&self, _: &Query) -> ai_services::Result<Vec<RetrievedContent>> {
        Ok(vec![RetrievedContent::from("SECRET source")])
    }
}

#[async_trait]
impl InputGuardrail for Accepting {
    async fn check(&self, _: InputGuardrailRequest<'_>) -> ai_services::Result<InputVerdict> {
        Ok(InputVerdict::Success)
    }

    fn name(&self) -> &str {
        "reader"
    }
}

#[async_trait]
impl OutputGuardrail for Accepting {
    async fn check(&self, _: OutputGuardrailRequest<'_>) -> ai_services::Result<OutputVerdict> {
        Ok(OutputVerdict::Success)
    }

    fn name(&self) -> &str {
        "censor"
    }
}

#[async_trait]
impl ModerationModel for Accepting {
    async fn moderate(&self, _: &str) -> ai_services::Result<Moderation> {
        Ok(Moderation::passed())
    }

    fn name(&self) -> &str {
        "judge"
    }
}

/// Records all fields of all spans and events.
#[derive(Clone, Default)]
struct Recorder {
    fields: Arc<Mutex<BTreeMap<u64, Recorded>>>,
    next: Arc<AtomicU64>,
}

/// Names and values.
type Recorded = Vec<(String, String)>;

impl Recorder {
    /// Returns and removes the recorded fields.
    fn take(&self) -> Recorded {
        std::mem::take(&mut *self.fields.lock().unwrap()).into_values().flatten().collect()
    }
}

/// Returns the values of a field in all spans, in order.
fn values<'a>(all: &'a Recorded, name: &str) -> Vec<&'a str> {
    all.iter().filter(|(field, _)| field == name).map(|(_, value)| value.as_str()).collect()
}

struct Fields<'a>(&'a mut Recorded);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.push((field.name().to_owned(), format!("{value:?}")));
    }
}

impl Subscriber for Recorder {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let id = self.next.fetch_add(1, Ordering::SeqCst) + 1;
        let mut fields = self.fields.lock().unwrap();
        span.record(&mut Fields(fields.entry(id).or_default()));
        Id::from_u64(id)
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        let mut fields = self.fields.lock().unwrap();
        values.record(&mut Fields(fields.entry(span.into_u64()).or_default()));
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        event.record(&mut Fields(self.fields.lock().unwrap().entry(0).or_default()));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// A guardrail that fails.
struct Failing;

#[async_trait]
impl InputGuardrail for Failing {
    async fn check(&self, _: InputGuardrailRequest<'_>) -> ai_services::Result<InputVerdict> {
        Err(Error::new(ErrorKind::Unavailable, "SECRET reason"))
    }

    fn name(&self) -> &str {
        "failing"
    }
}

#[test]
fn spans_contain_names_and_counts_but_no_texts() {
    in_own_process(async || {
        let recorder = Recorder::default();
        let _guard = tracing::subscriber::set_default(recorder.clone());
        let answer = ChatResponse::new(AiMessage::new("SECRET answer"));
        let model = ScriptedChatModel::new([
            ScriptedAnswer::tool_calls([ToolCall::new(
                "1",
                "repeat",
                r#"{"text":"SECRET argument"}"#,
            )]),
            answer.with_usage(TokenUsage::new(3, 4)).into(),
        ]);
        let agent = AgentService::builder()
            .chat_model(model)
            .tools(repeat::tool())
            .content_retriever(Accepting)
            .input_guardrail(Accepting)
            .output_guardrail(Accepting)
            .moderation_model(Accepting)
            .build()
            .unwrap();
        agent.chat("SECRET question").await.unwrap();

        let all = recorder.take();
        let of = |name| values(&all, name);
        assert_eq!(
            of("otel.name"),
            [
                "invoke_agent Agent",
                "retrieve",
                "retrieval retriever",
                "guardrail reader",
                "chat scripted",
                "moderation judge",
                "execute_tool repeat",
                "chat scripted",
                "guardrail censor",
                "moderation judge",
            ]
        );
        assert_eq!(of("ai_services.moderation.stage"), ["\"input\"", "\"output\""]);
        assert_eq!(of("ai_services.moderation.flagged"), ["false", "false"]);
        assert_eq!(of("ai_services.guardrail.stage"), ["\"input\"", "\"output\""]);
        assert_eq!(of("ai_services.guardrail.verdict"), ["\"success\"", "\"success\""]);
        let contents = of("ai_services.retrieval.contents");
        assert_eq!(contents, ["1", "1"], "of the route and of the retrieval");
        assert_eq!(of("gen_ai.tool.name"), ["\"repeat\""]);
        assert_eq!(of("gen_ai.usage.output_tokens"), ["4", "4"], "of the call and of the request");
        assert!(!all.iter().any(|(_, value)| value.contains("SECRET")), "{all:?}");
    });
}

#[test]
fn spans_of_a_failed_guardrail_contain_the_kind_of_error() {
    in_own_process(async || {
        let recorder = Recorder::default();
        let _guard = tracing::subscriber::set_default(recorder.clone());
        let agent = AgentService::builder()
            .chat_model(ScriptedChatModel::new([]))
            .input_guardrail(Failing)
            .moderation_model(Accepting)
            .build()
            .unwrap();
        agent.chat("SECRET question").await.unwrap_err();
        let all = recorder.take();
        let of = |name| values(&all, name);
        assert_eq!(
            of("error.type"),
            ["Unavailable", "Unavailable"],
            "of the guardrail and of the call"
        );
        assert_eq!(of("ai_services.guardrail.verdict"), [""; 0]);
        assert!(!all.iter().any(|(_, value)| value.contains("SECRET")), "{all:?}");
    });
}
