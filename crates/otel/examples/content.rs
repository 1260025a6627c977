//! Prints the content of calls with all kinds of messages, one attribute per line: its name, a tab, its JSON.
//! `scripts/otel-content` validates the lines against the models of the conventions.
#![allow(clippy::print_stdout, reason = "examples print their results")]

use ai_services::message::{
    AiMessage, AudioContent, Content as Part, ImageContent, PdfContent, ToolCall,
};
use ai_services::model::{ChatResponse, FinishReason};
use ai_services::otel::{ContentCapture, Telemetry};
use ai_services::rag::{Query, RetrievedContent};
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use ai_services::{ai_service, tool};
use opentelemetry::trace::TracerProvider;
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider};
use tracing_subscriber::layer::SubscriberExt;

#[ai_service]
#[system_message("You inspect cars.")]
trait Inspector {
    async fn inspect(&self, contents: Vec<Part>) -> ai_services::Result<String>;
}

/// Takes a photo of a part.
#[tool]
fn photograph(part: &str) -> Result<Vec<Part>, String> {
    if part == "roof" {
        return Err("the camera does not reach the roof".to_owned());
    }
    let photo = ImageContent::base64("iVBORw0KGgo=", "image/png");
    Ok(vec![format!("The {part}:").into(), photo.into()])
}

/// Finds texts with a score and without one.
async fn handbook(_: Query) -> ai_services::Result<Vec<RetrievedContent>> {
    let scored = RetrievedContent::from("Dents are repaired from within.").with_score(0.75);
    Ok(vec![scored, RetrievedContent::from("Scratches are \"polished\".\n")])
}

fn answers() -> Vec<ScriptedAnswer> {
    let call = |id: &str, arguments: &str| ToolCall::new(id, "photograph", arguments);
    let answer = |message: AiMessage, reason: FinishReason| {
        ScriptedAnswer::from(ChatResponse::new(message).with_finish_reason(reason))
    };
    let thought = AiMessage::builder().thinking("The door is dented.").text("A dent.").build();
    let refusal = AiMessage::builder().refusal("I must not say that.").build();
    vec![
        ScriptedAnswer::tool_calls([
            call("1", r#"{"part":"door"}"#),
            call("2", r#"{"part":"roof"}"#),
        ]),
        ScriptedAnswer::tool_calls([call("3", "not JSON")]),
        answer(thought, FinishReason::Length),
        answer(refusal, FinishReason::ContentFilter),
        answer(AiMessage::new("No."), FinishReason::Other("recitation".into())),
        ScriptedAnswer::text("Yes."),
    ]
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ai_services::Result<()> {
    let exporter = InMemorySpanExporter::default();
    let traces = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
    let subscriber = tracing_subscriber::registry()
        .with(tracing_opentelemetry::layer().with_tracer(traces.tracer("content")));
    let _guard = tracing::subscriber::set_default(subscriber);

    // Shortened content is content of the conventions, too.
    for max_bytes in [1 << 20, 400, 100] {
        let telemetry =
            Telemetry::builder().content(ContentCapture::Attributes { max_bytes }).build();
        let inspector = InspectorService::builder()
            .chat_model(ScriptedChatModel::new(answers()))
            .tools(photograph::tool())
            .content_retriever(handbook)
            .listener(telemetry.listener())
            .build()?;
        for _ in 0..4 {
            let contents = vec![
                "Is there any damage?".repeat(20).into(),
                ImageContent::url("https://example.org/door.jpg").into(),
                AudioContent::base64("UklGRg==", "audio/wav").into(),
                PdfContent::base64("JVBERg==", "application/pdf").into(),
            ];
            // A refusal is an error of the call.
            let _ = inspector.inspect(contents).await;
        }
    }
    for span in exporter.get_finished_spans().unwrap_or_default() {
        for attribute in span.attributes {
            let name = attribute.key.as_str();
            let is_tool = name.starts_with("gen_ai.tool.call.") && name != "gen_ai.tool.call.id";
            let is_content = name.ends_with(".messages") || name.ends_with(".documents") || is_tool;
            let is_content = is_content
                || name.ends_with("system_instructions")
                || name.ends_with(".definitions");
            if is_content {
                println!("{name}\t{}", attribute.value);
            }
        }
    }
    Ok(())
}
