//! The test kit for guardrails itself.

use ai_services::document::TextSegment;
use ai_services::guardrail::{InputVerdict, OutputVerdict};
use ai_services::message::{ChatMessage, UserMessage};
use ai_services::testing::guardrails::{
    ScriptedInputGuardrail, ScriptedOutputGuardrail, check_input, check_output,
};
use ai_services::{Error, ErrorKind, InvocationContext};

fn verdicts() -> Vec<OutputVerdict> {
    vec![
        OutputVerdict::Success,
        OutputVerdict::Rewrite("other".into()),
        OutputVerdict::Retry("why".into()),
        OutputVerdict::Reprompt { reason: "why".into(), prompt: "again".into() },
        OutputVerdict::Failure("why".into()),
        OutputVerdict::Fatal("why".into()),
    ]
}

#[tokio::test]
async fn answer_checks_accept_only_their_verdicts() {
    for (index, verdict) in verdicts().into_iter().enumerate() {
        let guardrail = ScriptedOutputGuardrail::new("g", [verdict]);
        let checked = check_output(&guardrail, "text").await;
        let accepted = [
            checked.check_success().is_ok(),
            checked.check_rewritten_to("other").is_ok(),
            checked.check_retried_because("wh").is_ok(),
            checked.check_reprompted_with("again").is_ok(),
            checked.check_rejected_because("wh").is_ok(),
            checked.check_fatal_because("why").is_ok(),
        ];
        let expected: [bool; 6] = match index {
            0 => [true, false, false, false, false, false],
            1 => [false, true, false, false, false, false],
            2 => [false, false, true, false, true, false],
            3 => [false, false, false, true, true, false],
            4 => [false, false, false, false, true, false],
            _ => [false, false, false, false, true, true],
        };
        assert_eq!(accepted, expected, "{index}");
        assert!(checked.check_rewritten_to("text").is_err());
        assert!(checked.check_rejected_because("other reason").is_err());
        assert!(checked.check_error(ErrorKind::Timeout).is_err());
    }
}

#[tokio::test]
async fn message_checks_accept_only_their_verdicts() {
    for (verdict, expected) in [
        (InputVerdict::Success, [true, false, false, false]),
        (InputVerdict::Rewrite(UserMessage::new("other")), [false, true, false, false]),
        (InputVerdict::Failure("why".into()), [false, false, true, false]),
        (InputVerdict::Fatal("why".into()), [false, false, true, true]),
    ] {
        let guardrail = ScriptedInputGuardrail::new("g", [verdict]);
        let checked = check_input(&guardrail, "text").await;
        let accepted = [
            checked.check_success().is_ok(),
            checked.check_rewritten_to("other").is_ok(),
            checked.check_rejected_because("wh").is_ok(),
            checked.check_fatal_because("why").is_ok(),
        ];
        assert_eq!(accepted, expected, "{checked:?}");
        assert!(checked.check_rewritten_to("text").is_err());
        assert!(checked.check_rejected_because("other reason").is_err());
    }
}

#[tokio::test]
async fn error_contains_expected_and_actual_verdict() {
    let guardrail = ScriptedInputGuardrail::from_fn("g", |_, _| {
        Err(Error::new(ErrorKind::Timeout, "too slow"))
    });
    let checked = check_input(&guardrail, "text").await;
    checked.check_error(ErrorKind::Timeout).unwrap();
    assert_eq!(
        checked.check_rejected_because("rude").unwrap_err().to_string(),
        "expected the guardrail `g` to reject it because of `rude`; it was unable to decide (Timeout): too slow"
    );
}

#[tokio::test]
async fn guardrail_receives_the_whole_turn() {
    let guardrail = ScriptedInputGuardrail::new("g", [InputVerdict::Success]);
    let checked = check_input(&guardrail, "text")
        .contents([TextSegment::new("found")])
        .history([ChatMessage::user("a"), ChatMessage::ai("b")])
        .system_message("Be brief.")
        .memory_id("ann")
        .invocation(InvocationContext::new())
        .await;
    checked.check_success().unwrap();
    let requests = guardrail.requests();
    let [request] = requests.as_slice() else { panic!("{requests:?}") };
    assert_eq!(request.user_message, UserMessage::new("text"));
    assert_eq!(request.contents, [TextSegment::new("found")]);
    assert_eq!(request.turn.user_message(), &UserMessage::new("text"));
    assert_eq!(request.turn.history().count(), 2);
    assert_eq!(request.turn.system_message().map(|system| system.text()), Some("Be brief."));
    assert_eq!(request.turn.memory_id(), Some(&"ann".into()));
}

#[tokio::test]
async fn output_guardrail_receives_the_turn_of_the_answer() {
    let guardrail = ScriptedOutputGuardrail::new("g", [OutputVerdict::Success]);
    let contents = [TextSegment::new("found")];
    let checked = check_output(&guardrail, "4")
        .question("2 + 2?")
        .contents(contents.clone())
        .rejected(3)
        .await;
    checked.check_success().unwrap();
    let request = guardrail.requests().remove(0);
    assert_eq!(request.response.message.text(), Some("4"));
    assert_eq!(request.turn.user_message().text(), Some("2 + 2?"));
    assert_eq!((request.contents.as_slice(), request.rejected), (contents.as_slice(), 3));
}

#[tokio::test]
async fn script_of_wrong_length_is_an_error() {
    let guardrail = ScriptedInputGuardrail::new("g", [InputVerdict::Success]);
    let error = guardrail.check_finished().unwrap_err().to_string();
    assert_eq!(error, "1 verdicts of the guardrail `g` were not used; it was called 0 times");
    check_input(&guardrail, "a").await.check_success().unwrap();
    guardrail.check_finished().unwrap();
    let checked = check_input(&guardrail, "b").await;
    checked.check_error(ErrorKind::Configuration).unwrap();
    let error = checked.verdict().as_ref().unwrap_err().to_string();
    assert_eq!(error, "the script of the guardrail `g` has no verdict for request 1");
}
