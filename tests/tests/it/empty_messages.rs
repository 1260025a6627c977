//! User messages and answers without any text.

use super::desk::{Agent as _, AgentService, add, call, results};
use super::journal::{Desk as _, Journal, remembered};
use ai_services::guardrail::{InputVerdict, OutputVerdict};
use ai_services::message::{AiMessage, ChatMessage, Content, UserMessage};
use ai_services::model::{ChatResponse, FinishReason};
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use ai_services::{AnswerStream, ErrorKind, ai_service};
use serde_json::json;

#[ai_service]
trait Oracle {
    async fn ask(&self, message: &str) -> ai_services::Result<String>;

    #[user_message("{{text}}")]
    async fn quote(&self, text: &str) -> ai_services::Result<String>;

    async fn show(&self, #[user_message] parts: Vec<Content>) -> ai_services::Result<String>;

    async fn number(&self, message: &str) -> ai_services::Result<u8>;

    async fn numbers(&self, message: &str) -> ai_services::Result<Vec<u8>>;

    fn stream(&self, message: &str) -> AnswerStream;
}

fn oracle(model: &ScriptedChatModel) -> OracleService {
    OracleService::builder().chat_model(model.clone()).build().unwrap()
}

#[tokio::test]
async fn empty_user_message_is_not_sent() {
    let model = ScriptedChatModel::from_fn(|_, _| ScriptedAnswer::text("7"));
    let oracle = oracle(&model);
    for text in ["", " \n\t", "\u{a0}"] {
        let errors = [
            oracle.ask(text).await.unwrap_err(),
            oracle.quote(text).await.unwrap_err(),
            oracle.show(vec![text.into()]).await.unwrap_err(),
            oracle.number(text).await.unwrap_err(),
            oracle.stream(text).collect().await.unwrap_err(),
        ];
        for error in errors {
            assert_eq!(error.kind(), ErrorKind::Prompt, "{error}");
        }
    }
    assert!(oracle.show(Vec::new()).await.is_err());
    assert!(model.requests().is_empty());
}

#[tokio::test]
async fn image_without_text_is_sent() {
    let model = ScriptedChatModel::replies(["a cat", "a cat"]);
    let image = Content::image_url("https://example.org/cat.png");
    let oracle = oracle(&model);
    assert_eq!(oracle.show(vec![image.clone()]).await.unwrap(), "a cat");
    assert_eq!(oracle.show(vec!["".into(), image]).await.unwrap(), "a cat");
}

#[tokio::test]
async fn message_that_a_guardrail_emptied_is_not_sent() {
    let journal = Journal::default();
    let model = journal.replies(["never"]);
    let erase = journal.input("eraser", |_| InputVerdict::Rewrite(UserMessage::new(" ")));
    let desk = journal.desk(&model).input_guardrail(erase).build().unwrap();
    let error = desk.ask("ann", "secret").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Prompt, "{error}");
    assert!(model.requests().is_empty());
}

/// An answer without text, that ended for this reason.
fn nothing(reason: Option<FinishReason>) -> ScriptedAnswer {
    let mut response = ChatResponse::new(AiMessage::builder().build());
    response.finish_reason = reason;
    response.into()
}

/// An answer with an empty text, that ended for this reason.
fn empty_text(reason: Option<FinishReason>) -> ScriptedAnswer {
    let mut response = ChatResponse::new(AiMessage::new(""));
    response.finish_reason = reason;
    response.into()
}

#[tokio::test]
async fn answer_without_text_after_tools_is_empty_and_stored() {
    for last in [nothing(Some(FinishReason::Stop)), empty_text(None), nothing(None)] {
        let journal = Journal::default();
        let model = journal.model([super::journal::calling("act"), last]);
        let desk = journal
            .desk(&model)
            .output_guardrail(journal.output("reader", |_, _| OutputVerdict::Success))
            .build()
            .unwrap();
        let response = desk.ask("ann", "note it").await.unwrap();
        assert_eq!(response.value, "");
        assert_eq!(response.tool_executions.len(), 1);
        let kept = remembered(&desk, "ann").await;
        assert_eq!(kept.len(), 4, "{kept:?}");
        assert!(
            matches!(kept.last(), Some(ChatMessage::Ai(answer)) if answer.text().unwrap_or_default().is_empty())
        );
    }
}

#[tokio::test]
async fn streamed_answer_without_text_is_empty() {
    let model = ScriptedChatModel::new([nothing(Some(FinishReason::Stop))]);
    assert_eq!(oracle(&model).stream("hi").collect().await.unwrap().value, "");
}

#[tokio::test]
async fn answer_without_text_that_did_not_end_normally_is_an_error() {
    let other = FinishReason::Other("MALFORMED_FUNCTION_CALL".into());
    for reason in [FinishReason::Length, FinishReason::ContentFilter, other] {
        for answer in [nothing(Some(reason.clone())), empty_text(Some(reason.clone()))] {
            let model = ScriptedChatModel::new([answer]);
            let error = oracle(&model).ask("hi").await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Output);
            assert!(error.to_string().contains(reason.as_str()), "{error}");
        }
    }
}

#[tokio::test]
async fn typed_answer_without_text_is_requested_again_within_the_turn() {
    for empty in [nothing(Some(FinishReason::Stop)), empty_text(None)] {
        let model = ScriptedChatModel::new([empty, ScriptedAnswer::text(r#"{"value": 7}"#)]);
        assert_eq!(oracle(&model).number("hi").await.unwrap(), 7);
        assert_eq!(model.requests().len(), 2);
    }
    for empty in [nothing(Some(FinishReason::Stop)), empty_text(None)] {
        let model = ScriptedChatModel::new([empty, ScriptedAnswer::text(r#"{"values": [7]}"#)]);
        assert_eq!(oracle(&model).numbers("hi").await.unwrap(), [7]);
    }
}

#[tokio::test]
async fn immediate_result_without_text_is_an_empty_answer() {
    /// Says nothing.
    #[ai_services::tool(return_immediately)]
    fn silence() -> &'static str {
        ""
    }
    let model =
        ScriptedChatModel::new([ScriptedAnswer::tool_calls([call("1", "silence", json!({}))])]);
    let agent = AgentService::builder()
        .chat_model(model.clone())
        .tools(silence::tool())
        .tools(add::tool())
        .build()
        .unwrap();
    assert_eq!(agent.chat("go").await.unwrap().value, "");
    assert!(results(&model.messages_of(0)).is_empty());
}
