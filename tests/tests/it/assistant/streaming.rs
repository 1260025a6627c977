//! Streamed answers, their failures and their cancellation.

use super::harness::{Chat, assistant, at, completion};
use ai_services_tests::fault_server::{FaultServer, Step, events_head};
use serde_json::{Value, json};

fn event(delta: &Value) -> Step {
    chunk(&json!({ "choices": [{ "index": 0, "delta": delta }] }))
}

fn text(piece: &str) -> Step {
    event(&json!({ "content": piece }))
}

fn chunk(data: &Value) -> Step {
    Step::Send(format!("data: {data}\n\n").into_bytes())
}

/// Returns the start of a streamed answer.
fn begin() -> Vec<Step> {
    vec![Step::Request, Step::Send(events_head())]
}

/// Returns the end of a streamed answer.
fn end(reason: &str) -> Vec<Step> {
    let usage = json!({ "prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10 });
    let choice = json!({ "index": 0, "delta": {}, "finish_reason": reason });
    let end = Step::Send(b"data: [DONE]\n\n".to_vec());
    vec![chunk(&json!({ "choices": [choice], "usage": usage })), end]
}

fn answering(pieces: impl IntoIterator<Item = Step>) -> Vec<Step> {
    [begin(), pieces.into_iter().collect(), end("stop")].concat()
}

async fn ask(server: &FaultServer, arguments: &[&str]) -> (Option<i32>, String, String) {
    assistant(&[&at(&server.url()), arguments].concat()).await
}

#[tokio::test]
async fn pieces_of_an_answer_are_joined() {
    let server =
        FaultServer::start([answering(["It is", " fo", "ur.", ""].map(text))]).await.unwrap();
    let (code, answer, notices) = ask(&server, &["hi"]).await;
    assert_eq!((code, answer.as_str()), (Some(0), "It is four.\n"), "{notices}");
    assert_eq!(server.requests()[0].json()["stream"], true);
}

#[tokio::test]
async fn answer_without_streaming_arrives_whole() {
    let server = FaultServer::answering([completion(&json!({ "content": "Whole." }))]);
    let server = server.await.unwrap();
    let (code, answer, notices) = ask(&server, &["--no-stream", "hi"]).await;
    assert_eq!((code, answer.as_str()), (Some(0), "Whole.\n"), "{notices}");
    assert!(server.requests()[0].json()["stream"].as_bool().is_none_or(|stream| !stream));
}

#[tokio::test]
async fn tools_are_shown_in_both_deliveries() {
    let function = json!({ "name": "calculate", "arguments": r#"{"expression":"6*7"}"# });
    let call = json!({ "index": 0, "id": "c", "type": "function", "function": function });
    let calling = event(&json!({ "tool_calls": [call] }));
    let streamed = FaultServer::start([
        [begin(), vec![text("Let me see."), calling], end("tool_calls")].concat(),
        answering([text("It is 42.")]),
    ]);
    let whole = FaultServer::answering([
        completion(&json!({ "content": "Let me see.", "tool_calls": [call] })),
        completion(&json!({ "content": "It is 42." })),
    ]);
    let streamed = ask(&streamed.await.unwrap(), &["hi"]).await;
    let whole = ask(&whole.await.unwrap(), &["--no-stream", "hi"]).await;
    // Text before a tool call is printed only if it is streamed.
    assert_eq!(streamed.1, "Let me see.\nIt is 42.\n", "{}", streamed.2);
    assert_eq!(whole.1, "It is 42.\n", "{}", whole.2);
    for notices in [streamed.2, whole.2] {
        let shown: Vec<_> = notices.lines().filter(|line| line.starts_with('→')).collect();
        assert_eq!(shown.len(), 1, "{notices}");
        assert!(shown[0].starts_with(r#"→ calculate({"expression":"6*7"})  ✓ "#), "{notices}");
        assert!(shown[0].ends_with(" ms: 42"), "{notices}");
    }
}

#[tokio::test]
async fn thinking_is_shown_only_on_request() {
    let thought = |text: &str| event(&json!({ "reasoning_content": text }));
    let pieces =
        || answering([thought("Let me"), thought(" think\u{1b}["), thought("31m."), text("4")]);
    let message = json!({ "reasoning_content": "Let me think.", "content": "4" });
    for (arguments, shows) in [
        (&["hi"] as &[_], false),
        (&["--thinking", "hi"], true),
        (&["--no-stream", "hi"], false),
        (&["--no-stream", "--thinking", "hi"], true),
    ] {
        let server = if arguments.contains(&"--no-stream") {
            FaultServer::answering([completion(&message)]).await.unwrap()
        } else {
            FaultServer::start([pieces()]).await.unwrap()
        };
        let (code, answer, notices) = ask(&server, arguments).await;
        assert_eq!((code, answer.as_str()), (Some(0), "4\n"), "{notices}");
        let is_shown = notices.lines().any(|line| line == "Let me think.");
        assert_eq!(is_shown, shows, "{arguments:?}: {notices}");
    }
}

#[tokio::test]
async fn control_sequences_split_over_pieces_are_not_printed() {
    let hostile = "\u{1b}]0;owned\u{7}a\u{1b}[2J\u{9b}31mb\r\u{8}\tc\nd";
    let pieces = hostile.split_inclusive(|_| true).map(text);
    let server = FaultServer::start([answering(pieces)]).await.unwrap();
    let (_, answer, notices) = ask(&server, &["hi"]).await;
    assert_eq!(answer, "ab\tc\nd\n", "{notices}");
}

#[tokio::test]
async fn incomplete_answer_is_followed_by_the_error() {
    let server = FaultServer::start([[begin(), vec![text("Half an ans")]].concat()]).await.unwrap();
    let (code, answer, notices) = ask(&server, &["hi"]).await;
    assert_eq!((code, answer.as_str()), (Some(1), "Half an ans\n"), "{notices}");
    assert!(
        notices.lines().last().unwrap().starts_with("error: the answer was cut off"),
        "{notices}"
    );
}

#[tokio::test]
async fn chat_continues_after_an_incomplete_answer() {
    let server =
        FaultServer::start([[begin(), vec![text("Half")]].concat(), answering([text("Whole.")])]);
    let server = server.await.unwrap();
    let mut chat = Chat::with_server(&server);
    assert_eq!(chat.ask("one").await, "Half");
    chat.notice("error: the answer was cut off").await;
    assert_eq!(chat.ask("/memory").await, "no messages stored for me");
    assert_eq!(chat.ask("two").await, "Whole.");
    assert_eq!(chat.end().await, (vec![], Some(1)));
}

#[cfg(unix)]
mod interrupts {
    use super::*;
    use crate::assistant::harness::PATIENCE;
    use std::time::Duration;
    use tokio::time::timeout;

    /// Starts a server that begins an answer and never ends it.
    async fn endless(then: Vec<Step>) -> FaultServer {
        let pieces = vec![text("one\ntwo"), Step::Hang];
        FaultServer::start([[begin(), pieces].concat(), then]).await.unwrap()
    }

    #[tokio::test]
    async fn interrupt_cancels_only_the_turn() {
        let here_i_am = completion(&json!({ "content": "Here I am." }));
        for arguments in [&[] as &[_], &["--no-stream"]] {
            let server = FaultServer::start([
                vec![Step::Request, Step::Hang],
                vec![Step::Request, Step::Send(here_i_am.clone()), Step::Hang],
            ]);
            let server = server.await.unwrap();
            let mut chat = Chat::start(&[&at(&server.url()), arguments].concat());
            chat.send("Are you there?").await;
            timeout(PATIENCE, server.received(1)).await.unwrap();
            chat.interrupt().await;
            chat.notice("turn cancelled").await;
            timeout(PATIENCE, server.hung_up(1)).await.unwrap();

            assert_eq!(chat.ask("/memory").await, "no messages stored for me");
            assert_eq!(chat.ask("And now?").await, "Here I am.");
            assert_eq!(chat.ask("/usage").await, "turns: 1 answered, 1 cancelled");
            assert_eq!(chat.end().await.1, Some(0));
        }
    }

    #[tokio::test]
    async fn text_is_printed_on_arrival_and_kept_on_interrupt() {
        let server = endless(answering([text("Here I am.")])).await;
        let mut chat = Chat::with_server(&server);
        // The answer is not complete yet.
        assert_eq!(chat.ask("Count!").await, "one");
        chat.interrupt().await;
        assert_eq!(chat.answer().await, "two");
        chat.notice("turn cancelled").await;
        timeout(PATIENCE, server.hung_up(1)).await.unwrap();

        assert_eq!(chat.ask("/memory").await, "no messages stored for me");
        assert_eq!(chat.ask("And now?").await, "Here I am.");
        assert_eq!(chat.end().await, (vec![], Some(0)));
    }

    #[tokio::test]
    async fn interrupt_of_a_single_question_exits_with_130() {
        let server = endless(vec![]).await;
        let mut chat = Chat::start(&[&at(&server.url()) as &[_], &["Count!"]].concat());
        assert_eq!(chat.answer().await, "one");
        chat.interrupt().await;
        chat.notice("cancelled").await;
        assert_eq!(chat.end().await, (vec!["two".to_owned()], Some(130)));
    }

    #[tokio::test]
    async fn cancelled_question_releases_its_lease() {
        let directory = tempfile::tempdir().unwrap();
        let memory = directory.path().join("m.sqlite");
        let memory = ["--memory", memory.to_str().unwrap()];
        // Creates the file.
        assistant(&[&memory as &[_], &["hi"]].concat()).await;
        let server = endless(vec![]).await;
        let question: &[_] = &["Count!"];
        let mut chat = Chat::start(&[&at(&server.url()) as &[_], &memory, question].concat());
        assert_eq!(chat.answer().await, "one");
        chat.interrupt().await;
        assert_eq!(chat.end().await.1, Some(130));
        // A lease that was not released would expire after 30 seconds.
        let next = [&memory as &[_], &["My name is Ann."]].concat();
        let (code, answer, _) = timeout(Duration::from_secs(20), assistant(&next)).await.unwrap();
        assert_eq!((code, answer.as_str()), (Some(0), "Nice to meet you, Ann.\n"));
    }
}
