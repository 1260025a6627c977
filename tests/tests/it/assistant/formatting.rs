//! Formatting of the output for terminals and pipes.

use super::harness::{Chat, at, completion, finished, offline};
use ai_services_tests::fault_server::FaultServer;
use serde_json::json;

#[tokio::test]
async fn control_sequences_of_the_model_are_not_printed() {
    let call = json!({
        "id": "c", "type": "function",
        "function": { "name": "add_note", "arguments": r#"{"text":"\u001b[31mred\u0007"}"# },
    });
    let server = FaultServer::answering([
        completion(&json!({ "tool_calls": [call] })),
        completion(&json!({ "content": "\u{1b}]0;owned\u{7}a\u{1b}[2J\u{9b}31mb\r\u{8}\tc\nd" })),
    ]);
    let server = server.await.unwrap();
    let mut chat = Chat::with_server(&server);
    assert_eq!(chat.ask("hi \u{1b}[1mbold").await, "ab\tc");
    assert_eq!(chat.answer().await, "d");
    let tool = chat.notice("add_note").await;
    assert!(!tool.contains(|c: char| c.is_control()), "{tool:?}");
    chat.send("/memory").await;
    let (memory, code) = chat.end().await;
    assert_eq!(memory.len(), 5, "{memory:?}");
    assert_eq!(memory[0], "user: hi bold");
    assert!(!memory.concat().contains(|c: char| c.is_control() && c != '\t'), "{memory:?}");
    assert_eq!(code, Some(0));
}

const MARKDOWN: &str = "# Title\n- **bold** and `code`\n```\n*x*\n```";

/// Runs the assistant with an answer in Markdown, and returns its standard output.
async fn answer_in_markdown(arguments: &[&str], environment: &[(&str, &str)]) -> String {
    let server =
        FaultServer::answering([completion(&json!({ "content": MARKDOWN }))]).await.unwrap();
    let mut command = offline("assistant");
    command.args(at(&server.url())).args(arguments).arg("hi");
    command.env_remove("NO_COLOR").envs(environment.iter().copied());
    let (code, answer, notices) = finished(&mut command).await;
    assert_eq!(code, Some(0), "{notices}");
    let system = server.requests()[0].json()["messages"][0]["content"].to_string();
    let is_plain = system.contains("as plain text without Markdown");
    assert_eq!(
        is_plain,
        !answer.contains('\u{1b}'),
        "the prompt does not match the output format: {system}"
    );
    answer
}

#[tokio::test]
async fn piped_answer_is_plain() {
    assert_eq!(answer_in_markdown(&[], &[]).await, format!("{MARKDOWN}\n"));
}

#[tokio::test]
async fn styled_answer_shows_markdown() {
    let (bold, title, code) = ("\u{1b}[0;1m", "\u{1b}[0;1;4m", "\u{1b}[0;36m");
    let (dim, end) = ("\u{1b}[0;2m", "\u{1b}[0m");
    let expected = format!(
        "{title}Title{end}\n• {bold}bold{end} and {code}code{end}\n{dim}```{end}\n*x*\n{dim}```{end}\n"
    );
    for arguments in [&[] as &[_], &["--no-stream"]] {
        let answer = answer_in_markdown(arguments, &[("CLICOLOR_FORCE", "1")]).await;
        assert_eq!(answer, expected, "{arguments:?}");
    }
}

#[tokio::test]
async fn plain_option_overrides_forced_styles() {
    let forced = ("CLICOLOR_FORCE", "1");
    let plain = format!("{MARKDOWN}\n");
    assert_eq!(answer_in_markdown(&["--plain"], &[forced]).await, plain);
    assert_eq!(answer_in_markdown(&[], &[forced, ("NO_COLOR", "1")]).await, plain);
}
