//! Persistence of conversations across runs.

use super::harness::{self, Chat, assistant};
use ai_services_tests::servers;
use serde_json::Value;

/// Asks a single question with the given memory location.
async fn ask_with(memory: &str, user: &str, question: &str) -> String {
    let (code, answer, notices) = assistant(&["--memory", memory, "--user", user, question]).await;
    assert_eq!(code, Some(0), "{notices}");
    answer
}

/// Checks the guarantees of every persistent memory.
async fn check_persistence(memory: &str) {
    ask_with(memory, "ann", "My name is Ann.").await;
    ask_with(memory, "ben", "Hello!").await;
    assert_eq!(ask_with(memory, "ann", "What is my name?").await, "Your name is Ann.\n");

    let (code, listed, notices) = assistant(&["--memory", memory, "--list-users"]).await;
    assert_eq!((code, notices.as_str()), (Some(0), ""));
    let listed: Vec<Vec<_>> = listed.lines().map(|line| line.split('\t').collect()).collect();
    assert_eq!(listed[0][..2], ["ann", "4 messages"]);
    assert_eq!(listed[1][..2], ["ben", "2 messages"]);
    assert!(listed.iter().all(|line| line[2].starts_with("20") && line[2].ends_with('Z')));

    let (code, exported, notices) = assistant(&["--memory", memory, "--export", "ann"]).await;
    assert_eq!((code, notices.as_str()), (Some(0), ""));
    let lines = exported.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let texts: Vec<_> = lines.map(|line| line["message"]["text"].clone()).collect();
    assert_eq!(texts[1], "Nice to meet you, Ann.");
    assert_eq!(texts.len(), 4);
}

#[tokio::test]
async fn file_persists_across_runs() {
    let directory = tempfile::tempdir().unwrap();
    check_persistence(directory.path().join("m.sqlite").to_str().unwrap()).await;
}

#[tokio::test]
async fn servers_persist_across_runs() {
    if let Some(server) = servers::postgres::start() {
        check_persistence(&server.url()).await;
    }
    if let Some(server) = servers::redis::start() {
        check_persistence(&server.url()).await;
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn default_location_is_the_data_directory() {
    let home = tempfile::tempdir().unwrap();
    for (question, answer) in [
        ("My name is Ann.", "Nice to meet you, Ann.\n"),
        ("What is my name?", "Your name is Ann.\n"),
    ] {
        let mut command = harness::offline("assistant");
        command.env("XDG_DATA_HOME", home.path()).env_remove("ASSISTANT_MEMORY");
        let (_, printed, notices) =
            harness::finished(command.args(["--user", "ann", question])).await;
        assert_eq!(printed, answer, "{notices}");
    }
    use std::os::unix::fs::PermissionsExt;
    let file = home.path().join("ai-services-assistant/memory.sqlite");
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
}

#[tokio::test]
async fn evicted_messages_are_exported() {
    let directory = tempfile::tempdir().unwrap();
    let memory = directory.path().join("m.sqlite");
    let memory = memory.to_str().unwrap();
    let mut chat = Chat::start(&["--user", "ann", "--memory", memory]);
    for _ in 0..14 {
        chat.ask("My name is Ann.").await;
    }
    assert_eq!(chat.ask("/history").await, "user: My name is Ann.");
    let (rest, _) = chat.end().await;
    assert_eq!(rest.len(), 27, "{rest:?}");
    let (_, exported, _) = assistant(&["--memory", memory, "--export", "ann"]).await;
    let evicted: Vec<_> = exported
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["evicted"].as_bool().unwrap())
        .collect();
    // The window of 24 messages has room for the system message and eleven turns.
    assert_eq!(evicted, [vec![true; 6], vec![false; 22]].concat());
    let (_, listed, _) = assistant(&["--memory", memory, "--list-users"]).await;
    assert!(listed.starts_with("ann\t22 messages\t"), "{listed}");
}

#[tokio::test]
async fn memory_that_cannot_be_opened_exits_with_1_and_one_line() {
    for (memory, expected) in [
        ("/nowhere/m.sqlite", "its directory does not exist"),
        ("postgres://ann:canary@127.0.0.1:1/x", "PostgreSQL cannot be reached"),
        ("redis://:canary@127.0.0.1:1/", "the server cannot be reached"),
    ] {
        let (code, answer, notices) = assistant(&["--memory", memory, "hi"]).await;
        assert_eq!((code, answer.as_str()), (Some(1), ""), "{notices}");
        assert!(notices.starts_with("error: ") && notices.contains(expected), "{notices}");
        assert!(notices.lines().count() == 1 && !notices.contains("canary"), "{notices}");
    }
    let (code, _, notices) = assistant(&["--export", "nobody"]).await;
    assert_eq!((code, notices.as_str()), (Some(1), "error: no messages stored for nobody\n"));
}
