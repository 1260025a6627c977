//! The attributes that v1.41.1 requires, and those that it requires under a condition that holds here.

use crate::fixture::{Agent, agent, attribute, export, look_up};
use ai_services::combinators::FallbackModel;
use ai_services::embedding::InMemoryEmbeddingStore;
use ai_services::message::ToolCall;
use ai_services::model::{
    Capabilities, ChatModel, ChatRequest, ChatRequestParameters, ChatResponse, FinishReason,
    ModelEndpoint, TokenUsage,
};
use ai_services::otel::{MemoryIds, Telemetry};
use ai_services::rag::EmbeddingStoreContentRetriever;
use ai_services::testing::{HashingEmbeddingModel, ScriptedAnswer, ScriptedChatModel};
use ai_services::{ErrorKind, async_trait};
use opentelemetry::trace::{SpanKind, Status};
use opentelemetry_sdk::trace::SpanData;

/// The attributes of each operation, with their values. `*` is any value.
const REQUIRED: &[(&str, &[(&str, &str)])] = &[
    (
        "invoke_agent",
        &[
            ("gen_ai.operation.name", "invoke_agent"),
            ("gen_ai.provider.name", "acme"),
            ("gen_ai.agent.name", "Agent"),
            ("gen_ai.conversation.id", "ann"),
            ("gen_ai.output.type", "json"),
            ("gen_ai.request.model", "scripted"),
            ("gen_ai.usage.input_tokens", "*"),
            ("gen_ai.usage.output_tokens", "*"),
            ("gen_ai.usage.cache_read.input_tokens", "5"),
            ("gen_ai.usage.cache_creation.input_tokens", "6"),
            ("gen_ai.usage.reasoning.output_tokens", "7"),
            ("gen_ai.response.finish_reasons", r#"["stop"]"#),
        ],
    ),
    (
        "chat",
        &[
            ("gen_ai.operation.name", "chat"),
            ("gen_ai.provider.name", "acme"),
            ("gen_ai.conversation.id", "ann"),
            ("gen_ai.request.model", "scripted"),
            ("gen_ai.request.seed", "9"),
            ("gen_ai.request.top_k", "3"),
            ("gen_ai.request.max_tokens", "100"),
            ("gen_ai.request.temperature", "0.5"),
            ("gen_ai.request.top_p", "0.25"),
            ("gen_ai.request.frequency_penalty", "0.75"),
            ("gen_ai.request.presence_penalty", "1.5"),
            ("gen_ai.request.stop_sequences", r#"["END","STOP"]"#),
            ("server.address", "acme.example"),
            ("server.port", "8443"),
        ],
    ),
    (
        "execute_tool",
        &[
            ("gen_ai.operation.name", "execute_tool"),
            ("gen_ai.conversation.id", "ann"),
            ("gen_ai.tool.name", "look_up"),
            ("gen_ai.tool.type", "function"),
            ("gen_ai.tool.description", "Looks something up."),
            ("gen_ai.tool.call.id", "1"),
        ],
    ),
    (
        "retrieval",
        &[
            ("gen_ai.operation.name", "retrieval"),
            ("gen_ai.conversation.id", "ann"),
            ("gen_ai.data_source.id", "retriever"),
            ("ai_services.retrieval.contents", "0"),
        ],
    ),
    (
        "embeddings",
        &[
            ("gen_ai.operation.name", "embeddings"),
            ("gen_ai.provider.name", "*"),
            ("gen_ai.conversation.id", "ann"),
            ("gen_ai.request.model", "hashing-1"),
            ("gen_ai.embeddings.dimension.count", "*"),
        ],
    ),
    ("retrieve", &[("gen_ai.conversation.id", "ann")]),
    (
        "memory.load",
        &[
            ("gen_ai.conversation.id", "ann"),
            ("ai_services.memory.rows", "0"),
            ("ai_services.memory.version", "*"),
        ],
    ),
    (
        "memory.commit",
        &[
            ("gen_ai.conversation.id", "ann"),
            ("ai_services.memory.rows", "4"),
            ("ai_services.memory.replays", "0"),
        ],
    ),
];

/// A model at a server.
struct Acme(ScriptedChatModel);

#[async_trait]
impl ChatModel for Acme {
    async fn chat(&self, request: &ChatRequest) -> ai_services::Result<ChatResponse> {
        self.0.chat(request).await
    }

    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }

    fn name(&self) -> &str {
        "scripted"
    }

    fn endpoint(&self) -> ModelEndpoint<'_> {
        ModelEndpoint::new("acme").with_server("acme.example", Some(8443))
    }
}

fn operation(span: &SpanData) -> &str {
    span.name.split(' ').next().unwrap_or_default()
}

#[tokio::test]
async fn spans_have_the_attributes_of_the_conventions() {
    let exported = export(Telemetry::builder().memory_ids(MemoryIds::Plain));
    let usage = TokenUsage::new(10, 20)
        .with_cached_input(Some(5))
        .with_cache_write_input(Some(6))
        .with_reasoning(Some(7));
    let call = ToolCall::new("1", "look_up", r#"{"text":"tea"}"#);
    let answer = ChatResponse::new(ai_services::message::AiMessage::new("3"));
    let answer = answer.with_usage(usage).with_finish_reason(FinishReason::Stop);
    let script = ScriptedChatModel::new([ScriptedAnswer::tool_calls([call]), answer.into()]);
    let parameters = ChatRequestParameters::new()
        .seed(9)
        .top_k(3)
        .max_output_tokens(100)
        .temperature(0.5)
        .top_p(0.25)
        .frequency_penalty(0.75)
        .presence_penalty(1.5)
        .stop(["END", "STOP"]);
    let retriever = EmbeddingStoreContentRetriever::builder(InMemoryEmbeddingStore::new())
        .embedding_model(HashingEmbeddingModel::new())
        .build()
        .unwrap();
    let agent = agent!(
        exported,
        Acme(script),
        tools(look_up::tool()),
        content_retriever(retriever),
        parameters(parameters)
    );
    agent.count("ann", "How many?").await.unwrap();
    let spans = exported.spans();
    let mut missing = Vec::new();
    for span in &spans {
        let required = REQUIRED.iter().find(|(name, _)| *name == operation(span));
        let (_, required) = required.unwrap_or_else(|| panic!("{} is not listed", span.name));
        for (name, expected) in *required {
            match attribute(span, name) {
                Some(value) if *expected == "*" || value == *expected => {}
                value => {
                    missing.push(format!("{}: {name} is {value:?}, not {expected}", span.name));
                }
            }
        }
        let is_client = ["chat", "embeddings", "retrieval"].contains(&operation(span));
        let kind = if is_client { SpanKind::Client } else { SpanKind::Internal };
        assert_eq!(span.span_kind, kind, "{}", span.name);
        assert_eq!(span.status, Status::Unset, "{}", span.name);
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
    for (name, _) in REQUIRED {
        assert!(spans.iter().any(|span| operation(span) == *name), "no span `{name}`");
    }
    let last = spans.iter().rfind(|span| operation(span) == "chat").unwrap();
    for (name, count) in [("input", "10"), ("output", "20")] {
        let name = format!("gen_ai.usage.{name}_tokens");
        assert_eq!(attribute(last, &name).as_deref(), Some(count), "{name}");
    }
}

#[tokio::test]
async fn usage_is_in_the_spans_of_the_models_that_answered() {
    let exported = export(Telemetry::builder());
    let model = FallbackModel::builder()
        .model(ScriptedChatModel::new([ScriptedAnswer::error(ErrorKind::Unavailable, "down")]))
        .model(ScriptedChatModel::new([
            ScriptedAnswer::text("Hello.").with_usage(TokenUsage::new(3, 4))
        ]))
        .build()
        .unwrap();
    agent!(exported, model).chat("ann", "Hi!").await.unwrap();
    let spans = exported.spans();
    let chats = spans.iter().filter(|span| operation(span) == "chat");
    let counts: Vec<_> = chats.map(|span| attribute(span, "gen_ai.usage.input_tokens")).collect();
    assert_eq!(counts, [None, None, Some("3".to_owned())]);
}
