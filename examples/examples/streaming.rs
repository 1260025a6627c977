//! Streaming: a plain `fn` that returns an `AnswerStream` yields events while the call runs.
#![allow(clippy::print_stdout, reason = "examples print their results")]

use ai_services::message::ToolCall;
use ai_services::model::TokenUsage;
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use ai_services::{AnswerStream, Result, StreamEvent, ai_service, tool};
use std::io::{self, Write};
use std::time::Duration;

/// Returns the level of a river in centimeters.
#[tool]
fn level(river: &str) -> Result<u32, String> {
    match river {
        "Rhine" => Ok(312),
        _ => Err(format!("no gauge at the {river}")),
    }
}

#[ai_service]
trait Gauge {
    /// The call starts when the stream is first polled. Dropping the stream cancels it.
    fn ask(&self, question: &str) -> AnswerStream;
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let pause = Duration::from_millis(20);
    let model = ScriptedChatModel::new([
        ScriptedAnswer::tool_calls([ToolCall::new("1", "level", r#"{"river":"Rhine"}"#)])
            .with_usage(TokenUsage::new(40, 9)),
        ScriptedAnswer::text("The Rhine stands at 312 cm.")
            .chunked(6)
            .with_pauses(pause)
            .with_usage(TokenUsage::new(60, 12)),
        ScriptedAnswer::pieces(["Not", " that", " I", " know."]).with_pauses(pause),
    ]);
    let gauge = GaugeService::builder().chat_model(model).tools(level::tool()).build()?;

    // All events.
    let mut stream = gauge.ask("How high is the Rhine?");
    let mut pieces = 0;
    while let Some(event) = stream.next().await {
        match event? {
            StreamEvent::Text(piece) => {
                pieces += 1;
                println!("text      {piece:?}");
            }
            StreamEvent::ToolCall(delta) => println!("writes    {}", delta.arguments),
            StreamEvent::ToolStarted(call) => println!("started   {}", call.name()),
            StreamEvent::ToolFinished(execution) => {
                println!("finished  {}", execution.result().text().unwrap_or_default());
            }
            StreamEvent::Usage(usage) => println!("tokens    {}", usage.total().unwrap_or(0)),
            StreamEvent::Completed(response) => {
                println!("completed {:?}", response.value);
                assert_eq!(response.value, "The Rhine stands at 312 cm.");
                assert_eq!(response.token_usage, TokenUsage::new(100, 21));
            }
            _ => {}
        }
    }
    assert_eq!(pieces, 5);

    // Only the text.
    let mut text = gauge.ask("Will it rise?").text();
    let mut shown = String::new();
    while let Some(piece) = text.next().await {
        let piece = piece?;
        print!("{piece}");
        drop(io::stdout().flush());
        shown.push_str(&piece);
    }
    println!();
    assert_eq!(shown, "Not that I know.");
    Ok(())
}
