//! Tool calls that wait for the approval of the user.

use super::harness::{Chat, assistant};
use tempfile::TempDir;

/// Returns a directory, and the arguments for a memory in it.
fn memory() -> (TempDir, [String; 5]) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("m.sqlite").to_str().unwrap().to_owned();
    let arguments = ["--approve", "--user", "ann", "--memory", &file].map(str::to_owned);
    (directory, arguments)
}

fn and<'a>(arguments: &'a [String], question: &[&'a str]) -> Vec<&'a str> {
    arguments.iter().map(String::as_str).chain(question.iter().copied()).collect()
}

#[tokio::test]
async fn calls_wait_without_a_terminal() {
    let (_directory, arguments) = memory();
    let (code, answer, notices) = assistant(&and(&arguments, &["12*31"])).await;
    assert_eq!((code, answer.as_str()), (Some(0), "12 * 31 = 372\n"), "{notices}");
    let question = ["remember to buy milk"];
    // The second start finds the turn of the first one. A chat finds it at its start.
    for question in [&question as &[_], &["12*31"], &[]] {
        let (code, answer, notices) = assistant(&and(&arguments, question)).await;
        assert_eq!((code, answer.as_str()), (Some(1), ""), "{notices}");
        let lines: Vec<_> = notices.lines().skip(1).collect();
        assert_eq!(lines.len(), 3, "{notices}");
        assert!(lines[0].starts_with("`add_note` waits for approval: Stores a note"), "{notices}");
        assert_eq!(lines[1], r#"    {"text":"buy milk"}"#);
        assert!(lines[2].starts_with("error: no terminal to ask for approval: run"), "{notices}");
        assert!(lines[2].contains(r#"`--approve --user "ann"` and the same memory"#), "{notices}");
    }
}

#[tokio::test]
async fn open_turn_can_be_cancelled() {
    let (_directory, arguments) = memory();
    assistant(&and(&arguments, &["remember to buy milk"])).await;
    let mut chat = Chat::start(&and(&arguments[1..], &[]));
    assert_eq!(chat.ask("/cancel").await, "ended the open turn of ann");
    assert_eq!(chat.ask("/cancel").await, "ann has no open turn");
    assert_eq!(chat.end().await, (vec![], Some(0)));
    let (code, answer, notices) = assistant(&and(&arguments, &["12*31"])).await;
    assert_eq!((code, answer.as_str()), (Some(0), "12 * 31 = 372\n"), "{notices}");
}

#[cfg(target_os = "linux")]
mod terminals {
    use super::*;

    const QUESTION: &str = "waits for approval";

    #[tokio::test]
    async fn unanswered_question_is_asked_again_at_the_next_start() {
        let (_directory, arguments) = memory();
        let mut chat = Chat::in_terminal(&and(&arguments, &["remember to buy milk"]));
        chat.shown(QUESTION).await;
        chat.kill().await;

        let mut chat = Chat::in_terminal(&and(&arguments, &[]));
        chat.shown(QUESTION).await;
        chat.send("y").await;
        chat.shown(r#"→ add_note({"text":"buy milk"})  ✓"#).await;
        chat.shown("Noted as 1: buy milk.").await;
        chat.send("list my notes").await;
        chat.shown("1: buy milk").await;
        assert_eq!(chat.end().await.1, Some(0));

        let (code, answer, notices) = assistant(&and(&arguments, &["what did I say?"])).await;
        let said = "You said: remember to buy milk / list my notes\n";
        assert_eq!((code, answer.as_str()), (Some(0), said), "{notices}");
    }

    #[tokio::test]
    async fn calls_are_refused_and_edited() {
        for arguments in [&["--memory", "none"] as &[_], &["--memory", "none", "--no-stream"]] {
            let mut chat = Chat::in_terminal(&[&["--approve"], arguments].concat());
            chat.send("remember to buy milk").await;
            chat.shown(QUESTION).await;
            chat.send("Buy oats instead.").await;
            chat.shown("That did not work: the call was denied: Buy oats instead.").await;
            chat.send("remember to buy milk").await;
            chat.shown(QUESTION).await;
            chat.send("e").await;
            chat.send(r#"{"text":"buy oats"}"#).await;
            chat.shown("Noted as 1: buy oats.").await;
            assert_eq!(chat.end().await.1, Some(0));
        }
    }
}
