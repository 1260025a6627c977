//! Guardrails that ask a moderation model.

use ai_services::document::TextSegment;
use ai_services::guardrail::{ModerationGuardrail, RetrievedTexts};
use ai_services::message::{Content, UserMessage};
use ai_services::model::{Moderation, ModerationModel};
use ai_services::testing::guardrails::{check_input, check_output};
use ai_services::{Error, ErrorKind, Result, async_trait};
use std::sync::{Arc, Mutex};

/// Flags what contains `bad`, cannot judge `unclear`, and records what it was asked.
#[derive(Clone, Default)]
struct Words(Arc<Mutex<Vec<String>>>);

impl Words {
    fn asked(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

#[async_trait]
impl ModerationModel for Words {
    async fn moderate(&self, text: &str) -> Result<Moderation> {
        self.0.lock().unwrap().push(text.to_owned());
        if text.contains("unclear") {
            return Err(Error::new(ErrorKind::Unavailable, "overloaded"));
        }
        let violations = [("violence", 0.9), ("hate", 0.7)];
        Ok(Moderation::flagged(violations.into_iter().filter(|_| text.contains("bad"))))
    }
}

#[tokio::test]
async fn flagged_message_fails_at_once_with_its_categories() {
    let guardrail = ModerationGuardrail::new(Words::default());
    let reason = "the message violates the content policy: flagged for violence, hate";
    check_input(&guardrail, "bad").await.check_fatal_because(reason).unwrap();
    let reason = "the answer violates the content policy: flagged for violence, hate";
    check_output(&guardrail, "bad").await.check_fatal_because(reason).unwrap();
}

#[tokio::test]
async fn all_texts_of_a_message_are_judged_together() {
    let model = Words::default();
    let guardrail = ModerationGuardrail::new(model.clone());
    let image = Content::image_url("https://example.org/cat.png");
    let message = UserMessage::from_contents([Content::from("a"), image, Content::from("b")]);
    let contents = [TextSegment::new("bad")];
    let checked = check_input(&guardrail, "").message(message).contents(contents).await;
    checked.check_success().unwrap();
    assert_eq!(model.asked(), ["a\nb"]);
}

#[tokio::test]
async fn retrieved_texts_are_judged_if_told() {
    let model = Words::default();
    let guardrail = ModerationGuardrail::new(model.clone()).contents(RetrievedTexts::Check);
    let contents = ["fine", " ", "bad", "never asked"].map(TextSegment::new);
    let checked = check_input(&guardrail, "a").contents(contents).await;
    checked.check_fatal_because("retrieved text 3 violates").unwrap();
    assert_eq!(model.asked(), ["a", "fine", "bad"]);
}

#[tokio::test]
async fn model_that_cannot_judge_lets_nothing_through() {
    let guardrail = ModerationGuardrail::new(Words::default());
    check_input(&guardrail, "unclear").await.check_error(ErrorKind::Unavailable).unwrap();
    check_output(&guardrail, "unclear").await.check_error(ErrorKind::Unavailable).unwrap();
}

#[tokio::test]
async fn empty_answer_is_not_judged() {
    let model = Words::default();
    let guardrail = ModerationGuardrail::new(model.clone());
    check_output(&guardrail, " ").await.check_success().unwrap();
    assert!(model.asked().is_empty());
}
