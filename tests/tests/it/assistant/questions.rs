//! Single questions.

use super::harness::assistant;

#[tokio::test]
async fn answer_is_on_stdout_and_tool_call_on_stderr() {
    let (code, answer, notices) = assistant(&["--user", "ann", "What is 12*31?"]).await;
    assert_eq!(code, Some(0), "{notices}");
    assert_eq!(answer, "12 * 31 = 372\n");
    assert!(notices.starts_with("model: demo (offline: no key is set, and no Ollama"), "{notices}");
    assert!(notices.contains(r#"→ calculate({"expression":"12 * 31"})  ✓ "#), "{notices}");
    let (_, answer, _) = assistant(&["What is 17% of 340?"]).await;
    assert_eq!(answer, "17% of 340 = 57.8\n");
}

#[tokio::test]
async fn invalid_arguments_exit_with_2() {
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
    assert!(notices.contains("available: `openai/…`, `openai-responses/…`"), "{notices}");
    assert!(notices.contains("or `demo`"), "{notices}");
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
async fn missing_key_exits_with_1_and_names_the_variable() {
    let (code, _, notices) = assistant(&["--model", "openai/gpt-4o-mini", "hi"]).await;
    assert_eq!(code, Some(1), "{notices}");
    assert!(notices.contains("OPENAI_API_KEY"), "{notices}");
}
