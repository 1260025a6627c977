//! Template variables of other types than text: options, and values as JSON.

use ai_services::message::{ChatMessage, UserMessage};
use ai_services::testing::ScriptedChatModel;
use ai_services::{ErrorKind, Result, ai_service};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

#[derive(Serialize)]
struct Trip<'a> {
    city: &'a str,
    nights: Option<u8>,
    stops: Vec<&'a str>,
}

/// Prints another text than its JSON.
#[derive(Serialize)]
struct Code(u8);

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "code {}", self.0)
    }
}

#[ai_service]
trait Planner {
    #[system_message("Plan.{{hint}}")]
    #[user_message("{{trip}}|{{code}}|{{raw}}|{{trip}}")]
    async fn plan(
        &self,
        #[v("trip", json)] journey: &Trip<'_>,
        #[v] code: Code,
        #[v(json)] raw: Option<Code>,
        #[v] hint: Option<&str>,
    ) -> Result<String>;

    #[user_message("Hello{{name}}{{title}}")]
    async fn greet(
        &self,
        #[user_name]
        #[v]
        name: Option<String>,
        title: Option<Code>,
    ) -> Result<String>;

    #[user_message("{{lists}}")]
    async fn unwritable(&self, #[v(json)] lists: &BTreeMap<Vec<u8>, u8>) -> Result<String>;
}

#[tokio::test]
async fn value_is_sent_as_json_where_the_parameter_says_so() {
    let model = ScriptedChatModel::replies(["ok", "ok"]);
    let planner = PlannerService::builder().chat_model(model.clone()).build().unwrap();
    let trip = Trip { city: "{{code}} \"Oslo\"", nights: None, stops: vec!["a", "b"] };
    planner.plan(&trip, Code(1), Some(Code(2)), Some(" {{trip}}")).await.unwrap();
    let json = r#"{"city":"{{code}} \"Oslo\"","nights":null,"stops":["a","b"]}"#;
    assert_eq!(
        model.messages_of(0),
        [
            ChatMessage::system("Plan. {{trip}}"),
            ChatMessage::user(format!("{json}|code 1|2|{json}")),
        ]
    );
    planner.plan(&trip, Code(1), None, None).await.unwrap();
    assert_eq!(
        model.messages_of(1),
        [ChatMessage::system("Plan."), ChatMessage::user(format!("{json}|code 1|null|{json}"))]
    );
}

#[tokio::test]
async fn missing_value_is_an_empty_text_and_no_name() {
    let model = ScriptedChatModel::replies(["ok", "ok"]);
    let planner = PlannerService::builder().chat_model(model.clone()).build().unwrap();
    planner.greet(Some(" Ann".to_owned()), Some(Code(1))).await.unwrap();
    planner.greet(None, None).await.unwrap();
    let named = UserMessage::new("Hello Anncode 1").with_name(" Ann");
    assert_eq!(model.messages_of(0), [named.into()]);
    assert_eq!(model.messages_of(1), [ChatMessage::user("Hello")]);
}

#[tokio::test]
async fn value_without_json_fails_the_call_before_a_request() {
    let model = ScriptedChatModel::replies(["ok"]);
    let planner = PlannerService::builder().chat_model(model.clone()).build().unwrap();
    let lists = BTreeMap::from([(vec![1], 1)]);
    let error = planner.unwritable(&lists).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Prompt);
    assert_eq!(error.to_string(), "a template value cannot be written as JSON");
    assert!(model.requests().is_empty());
}
