//! The programs of the examples package, run as a user would: offline, through pipes.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "tests panic"
)]

use ai_services_tests::fault_server::{FaultServer, Step, json_answer};
use ai_services_tests::servers;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Output, Stdio};
use std::sync::OnceLock;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

/// How long anything may take before a test gives up. Nothing waits that long when all is well.
const PATIENCE: Duration = Duration::from_secs(60);

const SMALL_EXAMPLES: [&str; 6] =
    ["customer_support", "hello", "memory_per_user", "memory_that_survives", "prompts", "tools"];

/// The programs by name, built by the cargo that built this test.
fn programs() -> &'static BTreeMap<String, PathBuf> {
    static PROGRAMS: OnceLock<BTreeMap<String, PathBuf>> = OnceLock::new();
    PROGRAMS.get_or_init(|| {
        let build = ["build", "--quiet", "--package", "ai-services-examples", "--bins"];
        let built = std::process::Command::new(env!("CARGO"))
            .args(build)
            .args(["--examples", "--message-format=json-render-diagnostics"])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .stderr(Stdio::inherit())
            .output()
            .unwrap();
        assert!(built.status.success(), "the examples do not build");
        let messages = String::from_utf8(built.stdout).unwrap();
        let messages = messages.lines().filter_map(|line| serde_json::from_str(line).ok());
        let programs = messages.filter_map(|message: Value| {
            let name = message["target"]["name"].as_str()?.to_owned();
            Some((name, message["executable"].as_str()?.into()))
        });
        programs.collect()
    })
}

/// A program that finds neither a key, nor a server, nor a proxy.
fn offline(program: &str) -> Command {
    let mut command = Command::new(&programs()[program]);
    let is_setting = |name: &str| {
        let name = name.to_ascii_uppercase();
        name.starts_with("OPENAI_") || name.ends_with("_PROXY")
    };
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(is_setting) {
            command.env_remove(name);
        }
    }
    command.env("OLLAMA_HOST", "127.0.0.1:1").env("NO_COLOR", "1").kill_on_drop(true);
    command.env("ASSISTANT_MEMORY", "none");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

async fn finished(command: &mut Command) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } =
        tokio::time::timeout(PATIENCE, command.output()).await.unwrap().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code(), text(stdout), text(stderr))
}

async fn assistant(arguments: &[&str]) -> (Option<i32>, String, String) {
    finished(offline("assistant").args(arguments)).await
}

/// A chat through pipes.
struct Chat {
    child: Child,
    input: ChildStdin,
    answers: Lines<BufReader<ChildStdout>>,
    notices: Lines<BufReader<ChildStderr>>,
}

impl Chat {
    fn start(arguments: &[&str]) -> Self {
        let mut command = offline("assistant");
        let mut child = command.args(arguments).stdin(Stdio::piped()).spawn().unwrap();
        let input = child.stdin.take().unwrap();
        let answers = BufReader::new(child.stdout.take().unwrap()).lines();
        let notices = BufReader::new(child.stderr.take().unwrap()).lines();
        Self { child, input, answers, notices }
    }

    fn with_server(server: &FaultServer) -> Self {
        Self::start(&["--model", "openai/m", "--base-url", &server.url()])
    }

    async fn say(&mut self, line: &str) {
        self.input.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }

    /// The next line on standard output.
    async fn answer(&mut self) -> String {
        let line = tokio::time::timeout(PATIENCE, self.answers.next_line());
        line.await.unwrap().unwrap().expect("standard output ended")
    }

    async fn ask(&mut self, line: &str) -> String {
        self.say(line).await;
        self.answer().await
    }

    /// The next line on standard error that contains `text`.
    async fn notice(&mut self, text: &str) -> String {
        loop {
            let line = tokio::time::timeout(PATIENCE, self.notices.next_line());
            let line = line.await.unwrap().unwrap().expect("standard error ended");
            if line.contains(text) {
                return line;
            }
        }
    }

    /// Closes the input, and gives the rest of standard output and the exit code.
    async fn end(self) -> (Vec<String>, Option<i32>) {
        let Self { mut child, input, mut answers, .. } = self;
        drop(input);
        let mut rest = Vec::new();
        while let Some(line) = answers.next_line().await.unwrap() {
            rest.push(line);
        }
        let status = tokio::time::timeout(PATIENCE, child.wait()).await.unwrap().unwrap();
        (rest, status.code())
    }
}

fn completion(message: &Value) -> Vec<u8> {
    let usage = json!({ "prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10 });
    json_answer(&json!({ "choices": [{ "message": message }], "usage": usage }))
}

#[tokio::test]
async fn question_is_answered_on_stdout_and_the_tool_is_shown_on_stderr() {
    let (code, answer, notices) = assistant(&["--user", "ann", "What is 12*31?"]).await;
    assert_eq!(code, Some(0), "{notices}");
    assert_eq!(answer, "12 * 31 = 372\n");
    assert!(notices.starts_with("model: demo (offline: OPENAI_API_KEY is not set"), "{notices}");
    assert!(notices.contains(r#"→ calculate({"expression":"12 * 31"})  ✓ "#), "{notices}");
    let (_, answer, _) = assistant(&["What is 17% of 340?"]).await;
    assert_eq!(answer, "17% of 340 = 57.8\n");
}

#[tokio::test]
async fn wrong_use_exits_with_2() {
    for wrong in [
        ["--nope", ""].as_slice(),
        &["--model", "nobody/x", "hi"],
        &["--model", "openai", "hi"],
        &["--base-url", "http://127.0.0.1:1/v1", "hi"],
        &["--model", "demo", "--base-url", "http://127.0.0.1:1/v1", "hi"],
        &["--user", "", "hi"],
        &[""],
        &["--list-users", "hi"],
        &["--list-users", "--export", "ann"],
    ] {
        let (code, answer, notices) = assistant(wrong).await;
        assert_eq!((code, answer.as_str()), (Some(2), ""), "{wrong:?}: {notices}");
    }
    let (_, _, notices) = assistant(&["--model", "nobody/x", "hi"]).await;
    assert!(notices.contains("`openai/NAME`, `ollama/NAME` and `demo`"), "{notices}");
}

#[tokio::test]
async fn unreachable_server_exits_with_1_and_one_line() {
    let unreachable = ["--model", "openai/x", "--base-url", "http://127.0.0.1:1/v1", "hi"];
    let (code, answer, notices) = assistant(&unreachable).await;
    assert_eq!((code, answer.as_str()), (Some(1), ""), "{notices}");
    let lines: Vec<_> = notices.lines().collect();
    assert_eq!(lines.len(), 2, "{notices}");
    assert!(lines[1].starts_with("error: the server cannot be reached"), "{notices}");
}

#[tokio::test]
async fn missing_key_exits_with_1_and_says_what_to_set() {
    let (code, _, notices) = assistant(&["--model", "openai/gpt-4o-mini", "hi"]).await;
    assert_eq!(code, Some(1), "{notices}");
    assert!(notices.contains("OPENAI_API_KEY"), "{notices}");
}

#[tokio::test]
async fn users_have_separate_memories() {
    let mut chat = Chat::start(&["--user", "ann"]);
    assert_eq!(chat.ask("My name is Ann.").await, "Nice to meet you, Ann.");
    assert_eq!(chat.ask("/user ben").await, "you are ben now");
    assert_eq!(chat.ask("What is my name?").await, "You have not told me your name.");
    assert_eq!(chat.ask("remember to buy milk").await, "Noted as 1: buy milk.");
    assert_eq!(chat.ask("/user ann").await, "you are ann now");
    assert_eq!(chat.ask("What is my name?").await, "Your name is Ann.");
    assert_eq!(chat.ask("list my notes").await, "You have no notes.");

    assert_eq!(chat.ask("/memory").await, "user: My name is Ann.");
    assert_eq!(chat.answer().await, "assistant: Nice to meet you, Ann.");
    for _ in 0..6 {
        chat.answer().await;
    }
    assert_eq!(chat.ask("/forget").await, "the conversation with ann is forgotten");
    assert_eq!(chat.ask("/memory").await, "nothing is remembered of ann");
    assert_eq!(chat.ask("/user ben").await, "you are ben now");
    assert_eq!(chat.ask("list my notes").await, "1: buy milk");
    assert_eq!(chat.end().await, (vec![], Some(0)));
}

/// Asks one question with this memory.
async fn ask_with(memory: &str, user: &str, question: &str) -> String {
    let (code, answer, notices) = assistant(&["--memory", memory, "--user", user, question]).await;
    assert_eq!(code, Some(0), "{notices}");
    answer
}

/// What a memory promises wherever it is.
async fn remembers_across_runs(memory: &str) {
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
    let said: Vec<_> = lines.map(|line| line["message"]["text"].clone()).collect();
    assert_eq!(said[1], "Nice to meet you, Ann.");
    assert_eq!(said.len(), 4);
}

#[tokio::test]
async fn file_is_remembered_across_runs() {
    let directory = tempfile::tempdir().unwrap();
    remembers_across_runs(directory.path().join("m.sqlite").to_str().unwrap()).await;
}

#[tokio::test]
async fn servers_are_remembered_across_runs() {
    if let Some(server) = servers::postgres::start() {
        remembers_across_runs(&server.url()).await;
    }
    if let Some(server) = servers::redis::start() {
        remembers_across_runs(&server.url()).await;
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn data_directory_is_the_usual_place() {
    let home = tempfile::tempdir().unwrap();
    for (question, answer) in [
        ("My name is Ann.", "Nice to meet you, Ann.\n"),
        ("What is my name?", "Your name is Ann.\n"),
    ] {
        let mut command = offline("assistant");
        command.env("XDG_DATA_HOME", home.path()).env_remove("ASSISTANT_MEMORY");
        let (_, said, notices) = finished(command.args(["--user", "ann", question])).await;
        assert_eq!(said, answer, "{notices}");
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
    // The window of 24 has room for the system message and for eleven turns.
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
    assert_eq!((code, notices.as_str()), (Some(1), "error: nothing is remembered of nobody\n"));
}

#[tokio::test]
async fn commands_tell_usage_users_and_help() {
    let mut chat = Chat::start(&["--user", "ann"]);
    assert_eq!(chat.ask("12*31").await, "12 * 31 = 372");
    assert_eq!(chat.ask("/usage").await, "turns: 1 answered");
    assert_eq!(chat.answer().await, "tool calls: 1");
    assert!(chat.answer().await.starts_with("tokens: "));
    chat.ask("/user ben").await;
    assert_eq!(chat.ask("/users").await, "ann");
    assert_eq!(chat.answer().await, "ben");
    chat.say("/nope").await;
    chat.notice("there is no command /nope; /help lists them").await;
    assert!(chat.ask("/help").await.starts_with("/user NAME"));
    let (rest, code) = chat.end().await;
    assert!(rest.iter().any(|line| line.starts_with("/forget")), "{rest:?}");
    assert_eq!(code, Some(0));
}

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
    chat.say("/memory").await;
    let (memory, code) = chat.end().await;
    assert_eq!(memory.len(), 5, "{memory:?}");
    assert_eq!(memory[0], "user: hi bold");
    assert!(!memory.concat().contains(|c: char| c.is_control() && c != '\t'), "{memory:?}");
    assert_eq!(code, Some(0));
}

#[cfg(unix)]
#[tokio::test]
async fn interrupt_cancels_the_turn_only() {
    let server = FaultServer::start([
        vec![Step::Request, Step::Hang],
        vec![
            Step::Request,
            Step::Send(completion(&json!({ "content": "Here I am." }))),
            Step::Hang,
        ],
    ]);
    let server = server.await.unwrap();
    let mut chat = Chat::with_server(&server);
    chat.say("Are you there?").await;
    tokio::time::timeout(PATIENCE, server.received(1)).await.unwrap();
    let process = chat.child.id().unwrap().to_string();
    let kill = Command::new("kill").args(["-INT", &process]).status().await.unwrap();
    assert!(kill.success());
    chat.notice("cancelled: this turn is not remembered").await;
    tokio::time::timeout(PATIENCE, server.hung_up(1)).await.unwrap();

    assert_eq!(chat.ask("/memory").await, "nothing is remembered of me");
    assert_eq!(chat.ask("And now?").await, "Here I am.");
    assert_eq!(chat.ask("/usage").await, "turns: 1 answered, 1 cancelled");
    assert_eq!(chat.end().await.1, Some(0));
}

#[tokio::test]
async fn failed_turn_is_reported_and_the_chat_goes_on() {
    let refused = json!({ "error": { "message": "no\u{1b}[31m" } }).to_string();
    let server = FaultServer::answering([
        ai_services_tests::fault_server::answer(400, &[], refused),
        completion(&json!({ "content": "Better." })),
    ]);
    let server = server.await.unwrap();
    let mut chat = Chat::with_server(&server);
    chat.say("one").await;
    let error = chat.notice("error: ").await;
    assert!(!error.contains(|c: char| c.is_control()), "{error:?}");
    assert_eq!(chat.ask("two").await, "Better.");
    // Nobody watches a pipe: the failure shows in the exit code.
    assert_eq!(chat.end().await, (vec![], Some(1)));
}

#[tokio::test]
async fn ollama_server_that_answers_is_used() {
    let tags = json!({ "models": [{ "name": "nomic-embed-text:latest" }, { "name": "llama:8b" }] });
    let server = FaultServer::start([
        vec![Step::Request, Step::Send(json_answer(&tags)), Step::Hang],
        vec![Step::Request, Step::Send(completion(&json!({ "content": "Hi." }))), Step::Hang],
    ]);
    let server = server.await.unwrap();
    let host = server.url().replace("http://", "").replace("/v1", "");
    let mut command = offline("assistant");
    let (code, answer, notices) = finished(command.env("OLLAMA_HOST", host).arg("hi")).await;
    assert_eq!((code, answer.as_str()), (Some(0), "Hi.\n"), "{notices}");
    assert!(notices.starts_with("model: ollama/llama:8b (an Ollama server answers"), "{notices}");
    assert_eq!(server.requests()[1].json()["model"], "llama:8b");
}

#[tokio::test]
async fn key_in_the_environment_is_used_and_not_shown() {
    let server = FaultServer::answering([completion(&json!({ "content": "Hi." }))]).await.unwrap();
    let mut command = offline("assistant");
    command.env("OPENAI_API_KEY", "sk-canary").env("OPENAI_BASE_URL", server.url()).arg("hi");
    let (code, answer, notices) = finished(&mut command).await;
    assert_eq!((code, answer.as_str()), (Some(0), "Hi.\n"), "{notices}");
    assert!(notices.contains("OPENAI_API_KEY is set") && !notices.contains("canary"), "{notices}");
    assert_eq!(server.requests()[0].header("authorization"), Some("Bearer sk-canary"));
}

#[tokio::test]
async fn small_examples_run_offline() {
    for example in SMALL_EXAMPLES {
        let (code, output, errors) = finished(&mut offline(example)).await;
        assert_eq!(code, Some(0), "{example}: {errors}");
        assert!(!output.is_empty(), "{example}");
    }
}
