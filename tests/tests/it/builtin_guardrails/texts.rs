//! Guardrails that check texts without a model.

use ai_services::guardrail::{
    InputVerdict, MaxLength, OnRejection, OtherKeys, OutputGuardrail, OutputVerdict, Redaction,
    ValidJson, input_guardrail_fn, output_guardrail_fn,
};
use ai_services::message::{AiMessage, Content, ToolCall, UserMessage};
use ai_services::model::ChatResponse;
use ai_services::testing::guardrails::{check_input, check_output};
use std::future::ready;
use std::sync::Arc;

#[tokio::test]
async fn lengths_of_all_texts_are_added() {
    let guardrail = MaxLength::characters(5);
    let image = Content::image_url("https://example.org/a-very-long-name.png");
    let parts = |second: &str| {
        UserMessage::from_contents([Content::from("äöü"), image.clone(), Content::from(second)])
    };
    let fits = check_input(&guardrail, "").message(parts("ab")).await;
    fits.check_success().unwrap();
    let long = check_input(&guardrail, "").message(parts("abc")).await;
    long.check_rejected_because("the message has 6 characters; at most 5 are allowed").unwrap();
    assert!(matches!(long.verdict(), Ok(InputVerdict::Failure(_))));
}

#[tokio::test]
async fn reaction_to_long_answers_follows_the_setting() {
    for (on_rejection, name) in [
        (OnRejection::Reprompt, "Reprompt"),
        (OnRejection::Retry, "Retry"),
        (OnRejection::Fail, "Failure"),
        (OnRejection::FailFast, "Fatal"),
    ] {
        let guardrail = MaxLength::counted(1, "words", |text| text.split_whitespace().count());
        let guardrail = guardrail.on_rejection(on_rejection);
        let checked = check_output(&guardrail, "two words").await;
        checked.check_rejected_because("the answer has 2 words; at most 1 are allowed").unwrap();
        assert!(format!("{:?}", checked.verdict()).starts_with(&format!("Ok({name}")));
        let input = check_input(&guardrail, "two words").await;
        let is_fatal = matches!(input.verdict(), Ok(InputVerdict::Fatal(_)));
        assert_eq!(is_fatal, on_rejection == OnRejection::FailFast);
    }
}

#[tokio::test]
async fn answer_without_text_has_length_zero() {
    let call = ToolCall::new("1", "clock", "{}");
    let response = ChatResponse::new(AiMessage::builder().tool_calls([call]).build());
    let checked = check_output(&MaxLength::characters(0), "").response(response).await;
    checked.check_success().unwrap();
}

#[tokio::test]
async fn redacted_message_keeps_other_contents() {
    let image = Content::image_url("https://example.org/cat.png");
    let message = UserMessage::from_contents([
        Content::from("ann@example.org"),
        image.clone(),
        Content::from("nothing here"),
    ])
    .with_name("Ann");
    let redaction = Redaction::all();
    let checked = check_input(&redaction, "").message(message).await;
    let Ok(InputVerdict::Rewrite(rewritten)) = checked.verdict() else { panic!("{checked:?}") };
    let contents = [Content::from("[EMAIL]"), image, Content::from("nothing here")];
    assert_eq!((rewritten.contents(), rewritten.name()), (contents.as_slice(), Some("Ann")));
    check_input(&redaction, "nothing here").await.check_success().unwrap();
}

#[tokio::test]
async fn answers_are_redacted() {
    let redaction = Redaction::all();
    let checked = check_output(&redaction, "It is sk-0123456789abcdef.").await;
    checked.check_rewritten_to("It is [API_KEY].").unwrap();
    check_output(&redaction, "It is a key.").await.check_success().unwrap();
}

#[tokio::test]
async fn mistake_in_json_is_sent_to_the_model() {
    let json = ValidJson::object().required_keys(["a", "b"]).other_keys(OtherKeys::Reject);
    check_output(&json, " {\"a\": 1, \"b\": 2}\n").await.check_success().unwrap();
    for (answer, prompt) in [
        ("", "it is empty"),
        ("Sure: {}", "it is not JSON: expected value at line 1 column 1"),
        ("[1]", "it is not a JSON object"),
        ("{\"a\": 1}", "`b` is missing"),
        ("{\"a\": 1, \"b\": 2, \"secret\": 3}", "it has other keys than `a`, `b`"),
    ] {
        let checked = check_output(&json, answer).await;
        checked.check_reprompted_with(prompt).unwrap();
        checked.check_rejected_because(prompt).unwrap();
        checked.check_reprompted_with("with one JSON object and nothing else").unwrap();
        assert!(!format!("{checked:?}").contains("secret"));
    }
}

#[tokio::test]
async fn json_is_extracted_from_its_fence() {
    let json = ValidJson::any();
    check_output(&json, "```json\n[1, 2]\n```").await.check_rewritten_to("[1, 2]").unwrap();
    check_output(&json, "```json\n[1, 2\n```").await.check_reprompted_with("not JSON").unwrap();
    check_output(&json, "Here:\n```\n1\n```").await.check_reprompted_with("not JSON").unwrap();
}

#[tokio::test]
async fn closures_are_guardrails() {
    let input = input_guardrail_fn("no_shouting", |request| {
        let text = request.text().to_lowercase();
        ready(Ok(InputVerdict::Rewrite(UserMessage::new(text))))
    });
    check_input(&input, "HELP").await.check_rewritten_to("help").unwrap();
    let output = output_guardrail_fn("twice", |request| {
        let rejected = request.rejected;
        async move {
            tokio::task::yield_now().await;
            Ok(match rejected {
                0 => OutputVerdict::Retry("once more".into()),
                _ => OutputVerdict::Success,
            })
        }
    });
    let output: Arc<dyn OutputGuardrail> = Arc::new(output);
    assert_eq!(OutputGuardrail::name(&output), "twice");
    check_output(&output, "a").await.check_retried_because("once more").unwrap();
    check_output(&output, "a").rejected(1).await.check_success().unwrap();
}
