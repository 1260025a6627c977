//! Chats: users, commands, failures.

use super::harness::{Chat, completion};
use ai_services_tests::fault_server::{FaultServer, answer};
use serde_json::json;

#[tokio::test]
async fn users_have_separate_memories() {
    let mut chat = Chat::start(&["--user", "ann"]);
    assert_eq!(chat.ask("My name is Ann.").await, "Nice to meet you, Ann.");
    assert_eq!(chat.ask("/user ben").await, "you are now ben");
    assert_eq!(chat.ask("What is my name?").await, "You have not told me your name.");
    assert_eq!(chat.ask("remember to buy milk").await, "Noted as 1: buy milk.");
    assert_eq!(chat.ask("/user ann").await, "you are now ann");
    assert_eq!(chat.ask("What is my name?").await, "Your name is Ann.");
    assert_eq!(chat.ask("list my notes").await, "You have no notes.");

    assert_eq!(chat.ask("/memory").await, "user: My name is Ann.");
    assert_eq!(chat.answer().await, "assistant: Nice to meet you, Ann.");
    for _ in 0..6 {
        chat.answer().await;
    }
    assert_eq!(chat.ask("/forget").await, "deleted the conversation with ann");
    assert_eq!(chat.ask("/memory").await, "no messages stored for ann");
    assert_eq!(chat.ask("/user ben").await, "you are now ben");
    assert_eq!(chat.ask("list my notes").await, "1: buy milk");
    assert_eq!(chat.end().await, (vec![], Some(0)));
}

#[tokio::test]
async fn commands_show_usage_users_and_help() {
    let mut chat = Chat::start(&["--user", "ann"]);
    assert_eq!(chat.ask("12*31").await, "12 * 31 = 372");
    assert_eq!(chat.ask("/usage").await, "turns: 1 answered");
    assert_eq!(chat.answer().await, "tool calls: 1");
    assert!(chat.answer().await.starts_with("tokens: "));
    chat.ask("/user ben").await;
    assert_eq!(chat.ask("/users").await, "ann");
    assert_eq!(chat.answer().await, "ben");
    chat.send("/nope").await;
    chat.notice("unknown command /nope; /help lists the commands").await;
    assert!(chat.ask("/help").await.starts_with("/user NAME"));
    let (rest, code) = chat.end().await;
    assert!(rest.iter().any(|line| line.starts_with("/forget")), "{rest:?}");
    assert_eq!(code, Some(0));
}

#[tokio::test]
async fn failed_turn_is_reported_and_the_chat_continues() {
    let refused = json!({ "error": { "message": "no\u{1b}[31m" } }).to_string();
    let server = FaultServer::answering([
        answer(400, &[], refused),
        completion(&json!({ "content": "Better." })),
    ]);
    let server = server.await.unwrap();
    let mut chat = Chat::with_server(&server);
    chat.send("one").await;
    let error = chat.notice("error: ").await;
    assert!(!error.contains(|c: char| c.is_control()), "{error:?}");
    assert_eq!(chat.ask("two").await, "Better.");
    // The input is a pipe, so the exit code reports the failure.
    assert_eq!(chat.end().await, (vec![], Some(1)));
}
