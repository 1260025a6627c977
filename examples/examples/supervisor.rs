//! A supervisor: a service whose tools are other services.
#![allow(clippy::print_stdout, reason = "examples print")]

use ai_services::message::ToolCall;
use ai_services::model::TokenUsage;
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use ai_services::tool::ToolSet;
use ai_services::{Budget, Response, ai_service, tool};
use serde::Deserialize;
use serde_json::json;

#[ai_service]
#[system_message("You search the archive of a newspaper.")]
trait Archivist {
    /// Answers one question about past events, with the year.
    #[tool]
    async fn ask(&self, #[p("A complete question")] question: &str) -> ai_services::Result<String>;
}

#[derive(Deserialize, schemars::JsonSchema)]
#[expect(dead_code, reason = "the supervisor gets the JSON")]
struct Review {
    /// From 1 to 10.
    score: u8,
    advice: String,
}

#[ai_service]
#[system_message("You are a strict editor.")]
trait Editor {
    /// Rates a text for readers of a given age.
    #[tool(timeout = "2m")]
    #[user_message("Rate this text for readers of {{age}} years: {{text}}")]
    async fn review(&self, text: &str, age: u8) -> ai_services::Result<Review>;
}

#[ai_service]
#[system_message(
    "You write short articles. Ask the archivist for facts and the editor for a review."
)]
trait Supervisor {
    async fn write(&self, topic: &str) -> ai_services::Result<Response<String>>;
}

/// Counts the words of a text.
#[tool(read_only)]
fn count_words(text: &str) -> usize {
    text.split_whitespace().count()
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ai_services::Result<()> {
    let reply = |text: &str| ScriptedAnswer::text(text).with_usage(TokenUsage::new(100, 20));
    let call = |name: &str, arguments: serde_json::Value| {
        let call = ToolCall::new(name, name, arguments.to_string());
        ScriptedAnswer::tool_calls([call]).with_usage(TokenUsage::new(200, 10))
    };

    // Each specialist may use a model of its own.
    let archivist = ArchivistService::builder()
        .chat_model(ScriptedChatModel::new([reply("The bridge was opened in 1932.")]))
        .build()?;
    let editor = EditorService::builder()
        .chat_model(ScriptedChatModel::new([reply(r#"{"score": 8, "advice": "Shorter."}"#)]))
        .build()?;

    let model = ScriptedChatModel::new([
        call("archive_ask", json!({ "question": "When was the bridge opened?" })),
        call("review", json!({ "text": "The bridge was opened in 1932.", "age": 12 })),
        reply("The bridge: open since 1932."),
    ]);
    let supervisor = SupervisorService::builder()
        .chat_model(model)
        .tools(archivist.into_tools().with_prefix("archive_"))
        .tools(editor.into_tools())
        .tools(count_words::tool())
        // Covers the specialists, too.
        .budget(Budget::new().tokens(10_000))
        .build()?;

    let response = supervisor.write("The bridge").await?;
    for execution in &response.tool_executions {
        println!("{}: {}", execution.call().name(), execution.result().text().unwrap_or_default());
    }
    println!("{}\n{:?} tokens in total", response.value, response.token_usage.total());
    assert_eq!(response.token_usage.total(), Some(780));
    Ok(())
}
