//! Recordings and their replay.

use super::requests::request;
use super::{asking, failing, streamed, text};
use ai_services::combinators::{
    CorruptCassette, ExistingCassette, NotRecorded, RecordingModel, RecordingModelBuilder,
    ReplayModel, ReplayOrder, ReplayUse, WriteErrorPolicy,
};
use ai_services::message::{AiMessage, Attributes, ChatMessage, ToolCall, UserMessage};
use ai_services::model::{
    Capabilities, Capability, ChatModel, ChatRequest, ChatRequestParameters, ChatResponse,
    FinishReason, PartialAnswer, TokenUsage, ToolSpecification,
};
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use ai_services::{Error, ErrorKind};
use proptest::prelude::*;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

/// Creates a temporary folder and the path of a cassette in it.
fn temporary_path() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cassette.jsonl");
    (folder, path)
}

fn content(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

fn recording(
    answers: impl IntoIterator<Item = ScriptedAnswer>,
    path: &Path,
) -> RecordingModelBuilder {
    RecordingModel::builder(ScriptedChatModel::new(answers), path)
}

#[tokio::test]
async fn answers_are_replayed_with_all_fields() {
    let (_folder, path) = temporary_path();
    let call = ToolCall::new("1", "clock", r#"{"zone":"UTC"}"#);
    let message = AiMessage::builder().text("t").thinking("hm").tool_calls([call]).build();
    let mut answer = ChatResponse::new(message)
        .with_usage(TokenUsage::new(3, 4).with_total(Some(9)).with_cached_input(Some(1)))
        .with_finish_reason(FinishReason::Other("odd".into()));
    (answer.model, answer.id, answer.attempts) = (Some("m".into()), Some("i".into()), Some(2));
    let model = recording([answer.clone().into()], &path).build();
    assert_eq!(model.chat(&asking("x")).await.unwrap(), answer);

    let replay = ReplayModel::open(&path).await.unwrap();
    assert_eq!(replay.chat(&asking("x")).await.unwrap(), answer);
    assert_eq!(replay.name(), "scripted");
    assert_eq!(replay.capabilities(), model.capabilities());
    replay.check_finished().unwrap();
}

#[tokio::test]
async fn errors_are_replayed() {
    let (_folder, path) = temporary_path();
    let error = Error::new(ErrorKind::RateLimited, "slow down")
        .with_status(429)
        .with_retry_after(Duration::from_millis(1500))
        .with_retryable(false)
        .with_usage(TokenUsage::new(1, 0));
    recording([error.into()], &path).build().chat(&asking("x")).await.unwrap_err();
    let error = ReplayModel::open(&path).await.unwrap().chat(&asking("x")).await.unwrap_err();
    assert_eq!((error.kind(), error.to_string()), (ErrorKind::RateLimited, "slow down".to_owned()));
    assert_eq!((error.status(), error.is_retryable()), (Some(429), false));
    assert_eq!(error.retry_after(), Some(Duration::from_millis(1500)));
    assert_eq!(error.usage(), Some(&TokenUsage::new(1, 0)));
}

#[tokio::test]
async fn stream_is_replayed_in_pieces_and_as_an_answer() {
    let (_folder, path) = temporary_path();
    let model = recording([ScriptedAnswer::pieces(["a", "b", "c"])], &path).build();
    let (recorded, outcome) = streamed(&model, &asking("x")).await;
    let replay =
        || async { ReplayModel::builder().uses(ReplayUse::Repeatedly).open(&path).await.unwrap() };
    let (again, replayed) = streamed(&replay().await, &asking("x")).await;
    assert_eq!((&again, replayed.unwrap()), (&recorded, outcome.unwrap()));
    assert_eq!(text(&replay().await.chat(&asking("x")).await.unwrap()), "abc");
}

#[tokio::test]
async fn answer_is_replayed_as_a_stream() {
    let (_folder, path) = temporary_path();
    recording([ScriptedAnswer::text("abc")], &path).build().chat(&asking("x")).await.unwrap();
    let (texts, outcome) = streamed(&ReplayModel::open(&path).await.unwrap(), &asking("x")).await;
    assert_eq!((texts.concat().as_str(), text(&outcome.unwrap())), ("abc", "abc"));
}

#[tokio::test]
async fn failed_stream_is_replayed_with_its_pieces() {
    let (_folder, path) = temporary_path();
    let broken = ScriptedAnswer::pieces(["a", "b"]).then_error(ErrorKind::Connection, "broke");
    let (_, outcome) = streamed(&recording([broken], &path).build(), &asking("x")).await;
    outcome.unwrap_err();
    let (texts, outcome) = streamed(&ReplayModel::open(&path).await.unwrap(), &asking("x")).await;
    let error = outcome.unwrap_err();
    assert_eq!((texts.concat().as_str(), error.kind()), ("ab", ErrorKind::Connection));
    assert_eq!(error.detail::<PartialAnswer>().unwrap().text, "ab");
}

#[tokio::test]
async fn dropped_stream_is_not_recorded() {
    let (_folder, path) = temporary_path();
    let answers = [ScriptedAnswer::pieces(["a", "b"]), ScriptedAnswer::text("c")];
    let model = recording(answers, &path).build();
    let request = asking("x");
    let mut events = model.stream(&request);
    futures_util::StreamExt::next(&mut events).await.unwrap().unwrap();
    drop(events);
    model.chat(&request).await.unwrap();
    assert_eq!(content(&path).lines().count(), 2);
}

#[tokio::test]
async fn exchange_is_used_once_in_any_order() {
    let (_folder, path) = temporary_path();
    let model = RecordingModel::new(ScriptedChatModel::replies(["1", "2", "3"]), &path);
    for question in ["a", "b", "a"] {
        model.chat(&asking(question)).await.unwrap();
    }
    let replay = ReplayModel::open(&path).await.unwrap();
    assert_eq!(text(&replay.chat(&asking("b")).await.unwrap()), "2");
    assert_eq!(text(&replay.chat(&asking("a")).await.unwrap()), "1");
    assert_eq!(replay.unused_lines(), [4]);
    let error = replay.check_finished().unwrap_err();
    assert_eq!(error.to_string(), "1 unused exchanges in the cassette, on lines 4");
    assert_eq!(text(&replay.chat(&asking("a")).await.unwrap()), "3");
    replay.check_finished().unwrap();
    let error = replay.chat(&asking("a")).await.unwrap_err();
    assert_eq!(error.to_string(), "the exchange on line 2 of the cassette was already used");
}

#[tokio::test]
async fn exchanges_can_be_used_repeatedly() {
    let (_folder, path) = temporary_path();
    let model = RecordingModel::new(ScriptedChatModel::replies(["1", "2"]), &path);
    for question in ["a", "a"] {
        model.chat(&asking(question)).await.unwrap();
    }
    for order in [ReplayOrder::AnyOrder, ReplayOrder::InSequence] {
        let replay = ReplayModel::builder().uses(ReplayUse::Repeatedly).order(order);
        let replay = replay.open(&path).await.unwrap();
        let mut answers = String::new();
        for _ in 0..4 {
            answers += text(&replay.chat(&asking("a")).await.unwrap());
        }
        assert_eq!(answers, if order == ReplayOrder::AnyOrder { "1222" } else { "1212" });
    }
}

#[tokio::test]
async fn sequence_is_enforced() {
    let (_folder, path) = temporary_path();
    let model = RecordingModel::new(ScriptedChatModel::replies(["1", "2"]), &path);
    for question in ["a", "b"] {
        model.chat(&asking(question)).await.unwrap();
    }
    let replay = ReplayModel::builder().order(ReplayOrder::InSequence).open(&path).await.unwrap();
    let error = replay.chat(&asking("b")).await.unwrap_err();
    let missing = error.detail::<NotRecorded>().unwrap();
    assert_eq!(missing.line, Some(2));
    assert_eq!(missing.differences, ["messages[0].contents[0].text"]);
    for question in ["a", "b"] {
        replay.chat(&asking(question)).await.unwrap();
    }
    let error = replay.chat(&asking("a")).await.unwrap_err();
    assert_eq!(error.to_string(), "the cassette has no exchange left for the request");
}

#[tokio::test]
async fn unknown_request_is_compared_to_the_most_similar() {
    let (_folder, path) = temporary_path();
    let tool = |description: &str| ToolSpecification::new("clock", description);
    let with = |question: &str, tool: ToolSpecification| {
        ChatRequest::builder().messages([ChatMessage::user(question)]).tools(vec![tool]).build()
    };
    let model = RecordingModel::new(ScriptedChatModel::replies(["1", "2"]), &path);
    model.chat(&asking("far")).await.unwrap();
    model.chat(&with("near", tool("Tells the time."))).await.unwrap();
    let replay = ReplayModel::open(&path).await.unwrap();
    let error = replay.chat(&with("near", tool("Tells the hour."))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration);
    assert_eq!(
        error.to_string(),
        "the request is not in the cassette; the most similar one, on line 3, differs at `tools[0].description`"
    );
    assert_eq!(replay.unused_lines(), [2, 3]);
}

const SECRETS: [&str; 6] = [
    "correct horse \"battery\" staple",
    "sk-proj-0123456789abcdefghij",
    "ghp_0123456789abcdefghij0123",
    "AIzaSy0123456789-0123456789_0123456789",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N",
    "member-secret",
];

/// Creates a request with secrets in every text.
fn secretive() -> ChatRequest {
    let all = SECRETS[..5].join(" ");
    let arguments = serde_json::json!({ "password": SECRETS[0], "all": all }).to_string();
    let attributes: Attributes = [("note".to_owned(), all.clone().into())].into_iter().collect();
    let call = ToolCall::new("1", "login", arguments);
    let schema = serde_json::json!({ "type": "object", "description": all });
    let tool = ToolSpecification::new("login", all.clone())
        .with_parameters(schemars::Schema::try_from(schema).unwrap());
    ChatRequest::builder()
        .system(format!("Use {all}."))
        .messages([
            UserMessage::new(format!("<{all}>")).with_attributes(attributes).into(),
            AiMessage::builder()
                .text(all.clone())
                .thinking(all.clone())
                .tool_calls([call])
                .build()
                .into(),
            ChatMessage::tool_result("1", "login", all.clone()),
        ])
        .tools(vec![tool])
        .parameters(
            ChatRequestParameters::new()
                .stop([all.clone()])
                .extra("api_key", SECRETS[5])
                .extra("headers", serde_json::json!({ "X-Auth-Token": SECRETS[5], "n": all })),
        )
        .build()
}

#[tokio::test]
async fn secrets_are_absent_from_the_cassette() {
    let (_folder, path) = temporary_path();
    let all = SECRETS[..5].join(" ");
    let split = all.as_bytes().chunks(7).map(|piece| String::from_utf8(piece.to_vec()).unwrap());
    let answers = [
        ScriptedAnswer::text(all.clone()),
        Error::new(ErrorKind::Authentication, format!("wrong key {all}"))
            .with_code(all.clone())
            .into(),
        ScriptedAnswer::pieces(split.collect::<Vec<_>>()),
    ];
    let model = recording(answers, &path).redact(SECRETS[0]).build();
    model.chat(&secretive()).await.unwrap();
    model.chat(&secretive()).await.unwrap_err();
    streamed(&model, &secretive()).await.1.unwrap();

    let written = content(&path);
    assert_eq!(written.lines().count(), 4);
    for secret in
        SECRETS.iter().flat_map(|secret| [*secret, &secret[..12], &secret[secret.len() - 8..]])
    {
        assert!(!written.contains(secret), "{secret} is in {written}");
    }
    assert!(!written.contains("battery") && !written.contains("note"));
    let without_json: String =
        written.split(r#"{"text":""#).map(|piece| piece.split('"').next().unwrap()).collect();
    assert!(!without_json.contains("0123456789"), "secret spread over pieces: {without_json}");

    // Equal redactions make the requests match.
    let replay = ReplayModel::builder().redact(SECRETS[0]).open(&path).await.unwrap();
    assert!(text(&replay.chat(&secretive()).await.unwrap()).contains("[redacted]"));
    replay.chat(&secretive()).await.unwrap_err();
    let (texts, _) = streamed(&replay, &secretive()).await;
    assert!(texts.concat().contains("[redacted]"));
}

#[tokio::test]
async fn redaction_function_is_applied() {
    let (_folder, path) = temporary_path();
    let year = |text: &str| text.replace("2026", "YEAR");
    let model = recording([ScriptedAnswer::text("It is 2026.")], &path).redact_with(year).build();
    model.chat(&asking("Is it 2026?")).await.unwrap();
    assert!(!content(&path).contains("2026"));
    let replay = ReplayModel::builder().redact_with(year).open(&path).await.unwrap();
    assert_eq!(text(&replay.chat(&asking("Is it 2026?")).await.unwrap()), "It is YEAR.");
}

#[cfg(unix)]
#[tokio::test]
async fn cassette_is_readable_by_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let (_folder, path) = temporary_path();
    recording([ScriptedAnswer::text("x")], &path).build().chat(&asking("x")).await.unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[tokio::test]
async fn existing_cassette_is_extended_replaced_or_refused() {
    let (_folder, path) = temporary_path();
    let record = |existing| {
        let model = recording([ScriptedAnswer::text("x")], &path).existing(existing).build();
        async move { model.chat(&asking("x")).await.map(|_| ()) }
    };
    record(ExistingCassette::Append).await.unwrap();
    record(ExistingCassette::Append).await.unwrap();
    assert_eq!(content(&path).lines().count(), 3);
    record(ExistingCassette::Replace).await.unwrap();
    assert_eq!(content(&path).lines().count(), 2);
    let error = record(ExistingCassette::Refuse).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration);
    assert_eq!(content(&path).lines().count(), 2);
}

#[tokio::test]
async fn other_file_is_not_extended() {
    let (_folder, path) = temporary_path();
    std::fs::write(&path, "my diary\n").unwrap();
    let model = recording([ScriptedAnswer::text("x")], &path).build();
    let error = model.chat(&asking("x")).await.unwrap_err();
    assert_eq!(error.detail::<CorruptCassette>().unwrap().line, 1);
    assert_eq!(content(&path), "my diary\n");
}

#[tokio::test]
async fn incomplete_cassette_is_not_extended() {
    let (_folder, path) = temporary_path();
    let model = || recording([ScriptedAnswer::text("x")], &path).build();
    model().chat(&asking("x")).await.unwrap();
    let recorded = content(&path);
    std::fs::write(&path, &recorded[..recorded.len() - 10]).unwrap();
    let error = model().chat(&asking("x")).await.unwrap_err();
    assert_eq!(error.detail::<CorruptCassette>().unwrap().line, 2);
    let error = ReplayModel::open(&path).await.unwrap_err();
    assert_eq!(error.detail::<CorruptCassette>().unwrap().line, 2);
}

#[tokio::test]
async fn write_error_fails_the_call_unless_ignored() {
    let (folder, _) = temporary_path();
    let missing_path = folder.path().join("missing").join("cassette.jsonl");
    let answer = || ScriptedAnswer::text("x").with_usage(TokenUsage::new(1, 2));
    let strict = recording([answer(), answer()], &missing_path).build();
    let error = strict.chat(&asking("x")).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.usage()),
        (ErrorKind::Configuration, Some(&TokenUsage::new(1, 2)))
    );
    assert!(streamed(&strict, &asking("x")).await.1.is_err());
    let failed = recording([failing(ErrorKind::Timeout)], &missing_path).build();
    assert_eq!(failed.chat(&asking("x")).await.unwrap_err().kind(), ErrorKind::Timeout);
    let lenient =
        recording([answer()], &missing_path).write_errors(WriteErrorPolicy::Ignore).build();
    assert!(lenient.chat(&asking("x")).await.is_ok());
}

#[tokio::test]
async fn concurrent_exchanges_are_complete_lines() {
    let (_folder, path) = temporary_path();
    let script = ScriptedChatModel::from_fn(|number, _| ScriptedAnswer::text(number.to_string()));
    let model = RecordingModel::new(script, &path);
    let requests: Vec<_> = (0..50).map(|n| asking(&"long ".repeat(1000 + n))).collect();
    let calls = requests.iter().map(|request| model.chat(request));
    futures_util::future::join_all(calls).await;
    let replay = ReplayModel::open(&path).await.unwrap();
    assert_eq!(replay.unused_lines().len(), 50);
}

#[tokio::test]
async fn capabilities_can_be_set() {
    let (_folder, path) = temporary_path();
    recording([ScriptedAnswer::text("x")], &path).build().chat(&asking("x")).await.unwrap();
    let tools = Capabilities::of([Capability::Tools]);
    let replay = ReplayModel::builder().capabilities(tools).open(&path).await.unwrap();
    assert_eq!(replay.capabilities(), tools);
}

#[tokio::test]
async fn missing_file_is_named_in_the_error() {
    let error = ReplayModel::open("no/such/cassette.jsonl").await.unwrap_err();
    assert!(error.to_string().contains("no/such/cassette.jsonl"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Every recorded request matches in a replay.
    #[test]
    fn recorded_request_is_found(requests in prop::collection::vec(request(), 1..4)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let outcome: Result<(), TestCaseError> = runtime.block_on(async {
            let (_folder, path) = temporary_path();
            let script = ScriptedChatModel::from_fn(|n, _| ScriptedAnswer::text(n.to_string()));
            let model = RecordingModel::new(script, &path);
            for request in &requests {
                model.chat(request).await.unwrap();
            }
            let replay = ReplayModel::builder().order(ReplayOrder::InSequence);
            let replay = replay.open(&path).await.unwrap();
            for (number, request) in requests.iter().enumerate() {
                let response = replay.chat(request).await.unwrap();
                prop_assert_eq!(text(&response), number.to_string());
            }
            Ok(())
        });
        outcome?;
    }

    /// Any file is read as a cassette or rejected with an error.
    #[test]
    fn malformed_files_do_not_panic(lines in prop::collection::vec(".{0,40}", 0..4), cut in 0_usize..400) {
        const CASSETTE: &str = concat!(
            r#"{"format":"ai-services cassette","version":1,"model":"m","capabilities":["tools"]}"#, "\n",
            r#"{"request":{"messages":[]},"pieces":[{"text":"a"},{"tool_call":{"index":7}}],"#,
            r#""error":{"kind":"Timeout","message":"x","retryable":true,"retry_after":-1.0}}"#, "\n",
        );
        let _ = ReplayModel::builder().read(&lines.join("\n"));
        let cut = CASSETTE.get(..cut).unwrap_or(CASSETTE);
        if let Ok(model) = ReplayModel::builder().read(&format!("{cut}{}", lines.join("\n"))) {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let _ = runtime.block_on(model.chat(&ChatRequest::new([])));
        }
    }
}
