//! Guardrails that call a moderation model.

use ai_services::document::TextSegment;
use ai_services::guardrail::{ModerationGuardrail, RetrievedTexts};
use ai_services::message::{Content, UserMessage};
use ai_services::model::{Moderation, ModerationModel};
use ai_services::testing::guardrails::{check_input, check_output};
use ai_services::{Error, ErrorKind, Result, async_trait};
use std::sync::{Arc, Mutex};

/// Flags texts that contain `bad`, fails for `unclear`, and records all texts.
#[derive(Clone, Default)]
struct WordModel(Arc<Mutex<Vec<String>>>);

impl WordModel {
    fn texts(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

#[async_trait]
impl ModerationModel for WordModel {
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
    let guardrail = ModerationGuardrail::new(WordModel::default());
    let reason = "the message violates the content policy: flagged for violence, hate";
    check_input(&guardrail, "bad").await.check_fatal_because(reason).unwrap();
    let reason = "the answer violates the content policy: flagged for violence, hate";
    check_output(&guardrail, "bad").await.check_fatal_because(reason).unwrap();
}

#[tokio::test]
async fn all_texts_of_a_message_are_checked_together() {
    let model = WordModel::default();
    let guardrail = ModerationGuardrail::new(model.clone());
    let image = Content::image_url("https://example.org/cat.png");
    let message = UserMessage::from_contents([Content::from("a"), image, Content::from("b")]);
    let contents = [TextSegment::new("bad")];
    let checked = check_input(&guardrail, "").message(message).contents(contents).await;
    checked.check_success().unwrap();
    assert_eq!(model.texts(), ["a\nb"]);
}

#[tokio::test]
async fn retrieved_texts_are_checked_if_enabled() {
    let model = WordModel::default();
    let guardrail = ModerationGuardrail::new(model.clone()).contents(RetrievedTexts::Check);
    let contents = ["fine", " ", "bad", "never sent"].map(TextSegment::new);
    let checked = check_input(&guardrail, "a").contents(contents).await;
    checked.check_fatal_because("retrieved text 3 violates").unwrap();
    assert_eq!(model.texts(), ["a", "fine", "bad"]);
}

#[tokio::test]
async fn failed_model_fails_the_call() {
    let guardrail = ModerationGuardrail::new(WordModel::default());
    check_input(&guardrail, "unclear").await.check_error(ErrorKind::Unavailable).unwrap();
    check_output(&guardrail, "unclear").await.check_error(ErrorKind::Unavailable).unwrap();
}

#[tokio::test]
async fn blank_answer_is_not_sent_to_the_model() {
    let model = WordModel::default();
    let guardrail = ModerationGuardrail::new(model.clone());
    check_output(&guardrail, " ").await.check_success().unwrap();
    assert!(model.texts().is_empty());
}
